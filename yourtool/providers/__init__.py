"""Model providers: send requests, stream replies, translate both to a wire format."""
