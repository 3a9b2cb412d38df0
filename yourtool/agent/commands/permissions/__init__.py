"""Commands about permissions and trust."""
