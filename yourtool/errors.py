"""The exceptions of the program.

    YourtoolError
    ├── UsageError                 the command line or an argument of a command
    ├── ConfigError                a file that the user edits: file, line, key, nearest key
    ├── UnknownModelError          no such model, or an ambiguous name
    ├── AdapterError               a model request failed; one subclass per error class
    │   ├── RateLimitError         429, overloaded
    │   ├── AuthError              401, 403
    │   ├── ServerError            5xx
    │   ├── NetworkError           no connection, TLS, timeout, broken stream
    │   ├── ContextOverflowError   the prompt is too large for the model
    │   ├── InvalidRequestError    other 4xx
    │   └── OtherAdapterError      anything else
    ├── ToolError                  a tool failed; the model gets the text
    ├── ToolRegistrationError      a tool with an invalid schema
    └── StoreError
        ├── DamagedStoreError      the database is damaged; nothing is written to it
        ├── FullDiskError          the disk has no space for the change; later it may have
        ├── BlobError              an attachment cannot be stored or read
        ├── InvalidMessageError    a complete message breaks an invariant
        ├── SessionBusyError       another process writes to this session
        └── SessionNotFoundError

A message names the problem, its subject and the remedy; identifiers are in backticks.
"""

from enum import StrEnum
from typing import ClassVar


class YourtoolError(Exception):
    """Base class; its text is for the user and must be made printable."""


class UsageError(YourtoolError):
    """An invalid command or option."""


class SwapRefusedError(UsageError):
    """A model cannot take the session as it is; the active model did not change."""

    def __init__(
        self, message: str, *, model: str, code: str, media: str = "", fork_at: str = ""
    ) -> None:
        """`code`: the router's failure code; `media`: the unsupported media, in the plural;
        `fork_at`: the id of the prompt whose turn added the first of them."""
        super().__init__(message)
        self.model = model
        self.code = code
        self.media = media
        self.fork_at = fork_at


class ConfigError(YourtoolError):
    """A file that the user edits is invalid."""


class UnknownModelError(YourtoolError):
    """A name matches no model, or several."""

    def __init__(self, message: str, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates


class ErrorClass(StrEnum):
    """Why a model request failed, for routing and retries."""

    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    SERVER_ERROR = "server_error"
    NETWORK = "network"
    CONTEXT_OVERFLOW = "context_overflow"
    INVALID_REQUEST = "invalid_request"
    CANCELLED = "cancelled"
    OTHER = "other"


class ErrorCode(StrEnum):
    """A more precise cause, if it has a different remedy."""

    BILLING = "billing"
    """No credit or quota left: waiting does not help."""
    OVERFLOW = "overflow"
    STALLED = "stalled"
    """The provider stopped responding, and the timeout expired."""
    OVERLOADED = "overloaded"
    """The provider has too much to do; a longer wait helps."""
    CONTENT_FILTER = "content_filter"
    """The provider refuses the content of the prompt."""


class AdapterError(YourtoolError):
    """A failed model request; contains no key, header or request body."""

    error_class: ClassVar[ErrorClass] = ErrorClass.OTHER
    transient: ClassVar[bool] = False
    """Whether errors of this class are retried by default."""
    usual_code: ClassVar[ErrorCode | None] = None

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retryable: bool | None = None,
        code: ErrorCode | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        """The HTTP status, if any."""
        self.retryable = self.transient if retryable is None else retryable
        """Whether the same request can be retried."""
        self.retry_after: float | None = None
        """Seconds to wait before a retry, if the provider sent them."""
        self.code = code or self.usual_code
        self.request_id: str | None = None
        """The provider's id of the request, for its support."""
        self.usage: object = None
        """The `TokenUsage` that the provider counted, if no part of the reply was shown."""


class RateLimitError(AdapterError):
    """Too many requests, or an overloaded provider."""

    error_class = ErrorClass.RATE_LIMIT
    transient = True


class AuthError(AdapterError):
    """The key is missing, wrong or lacks permission."""

    error_class = ErrorClass.AUTH


class ServerError(AdapterError):
    """The provider failed."""

    error_class = ErrorClass.SERVER_ERROR
    transient = True


class NetworkError(AdapterError):
    """The provider is unreachable, or the stream broke or timed out."""

    error_class = ErrorClass.NETWORK
    transient = True


class ContextOverflowError(AdapterError):
    """The prompt is larger than the model's context window."""

    error_class = ErrorClass.CONTEXT_OVERFLOW
    usual_code = ErrorCode.OVERFLOW


class InvalidRequestError(AdapterError):
    """The provider refused the request as malformed or unsupported."""

    error_class = ErrorClass.INVALID_REQUEST


class OtherAdapterError(AdapterError):
    """Any other failure."""


class ToolFailure(StrEnum):
    """Why a tool call has no successful result."""

    NOT_FOUND = "not_found"
    VALIDATION_ERROR = "validation_error"
    PERMISSION_DENIED = "permission_denied"
    USER_DENIED = "user_denied"
    TIMEOUT = "timeout"
    EXECUTION_ERROR = "execution_error"
    CANCELLED = "cancelled"
    CONFIRMATION_TIMEOUT = "confirmation_timeout"


class ToolError(YourtoolError):
    """A tool failed; the text is the model's only feedback."""

    def __init__(self, message: str, failure: ToolFailure = ToolFailure.EXECUTION_ERROR) -> None:
        super().__init__(message)
        self.failure = failure


class ToolRegistrationError(YourtoolError):
    """An invalid tool definition; the text names the tool and the JSON path."""


class StoreError(YourtoolError):
    """An operation of the session store failed."""


class DamagedStoreError(StoreError):
    """The session database is damaged; nothing is written to it."""


class FullDiskError(StoreError):
    """The disk is full; nothing was changed, and the same change can be tried again."""


class BlobError(StoreError):
    """An attachment cannot be stored, or the stored one is missing or changed."""


class InvalidMessageError(StoreError):
    """A complete message breaks an invariant; nothing was written."""


class SessionBusyError(StoreError):
    """Another process writes to the session."""


class SessionNotFoundError(StoreError):
    """No stored session has this id."""
