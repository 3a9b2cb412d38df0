"""Every error the program raises on purpose.

    YourtoolError
    ├── UsageError                 the command line or an argument of a command
    ├── ConfigError                a file the user edits: file, line, key, nearest key
    ├── UnknownModelError          no such model, or several
    ├── AdapterError               a model request failed; one subclass per class of cause
    │   ├── RateLimitError         429, overloaded
    │   ├── AuthError              401, 403
    │   ├── ServerError            5xx
    │   ├── NetworkError           no connection, TLS, time-out, broken stream
    │   ├── ContextOverflowError   the prompt is too large for the model
    │   ├── InvalidRequestError    other 4xx
    │   └── OtherAdapterError      anything else
    ├── ToolError                  what the model is told when a tool cannot do its work
    ├── ToolRegistrationError      a tool whose schema or name is not acceptable
    └── StoreError
        ├── BlobError              an attachment that cannot be kept or had again
        ├── InvalidMessageError    a complete message that breaks an invariant
        ├── SessionBusyError       another process writes this session
        └── SessionNotFoundError

A message says what is wrong, which thing, and what to do; identifiers stand in backticks.
"""

from enum import StrEnum
from typing import ClassVar


class YourtoolError(Exception):
    """The root; its text may be shown to the user as it is, once made printable."""


class UsageError(YourtoolError):
    """A command or an option that cannot be obeyed."""


class SwapRefusedError(UsageError):
    """A model cannot take the session as it is; the active model did not change."""

    def __init__(
        self, message: str, *, model: str, code: str, media: str = "", fork_at: str = ""
    ) -> None:
        """`code`: a failure of the router's; `media`: what the model takes none of, in the plural;
        `fork_at`: the id of the prompt whose turn brought the first of them."""
        super().__init__(message)
        self.model = model
        self.code = code
        self.media = media
        self.fork_at = fork_at


class ConfigError(YourtoolError):
    """A file that the user edits and that cannot be used."""


class UnknownModelError(YourtoolError):
    """No model, or more than one, answers to a name."""

    def __init__(self, message: str, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates


class ErrorClass(StrEnum):
    """Why a model request failed, as routing and retry see it."""

    RATE_LIMIT = "rate_limit"
    AUTH = "auth"
    SERVER_ERROR = "server_error"
    NETWORK = "network"
    CONTEXT_OVERFLOW = "context_overflow"
    INVALID_REQUEST = "invalid_request"
    CANCELLED = "cancelled"
    OTHER = "other"


class ErrorCode(StrEnum):
    """What is known beyond the class, where it tells the user another way out."""

    BILLING = "billing"
    """No credit or quota is left: waiting does not help."""
    OVERFLOW = "overflow"
    STALLED = "stalled"
    """The provider was silent for longer than is borne."""
    CONTENT_FILTER = "content_filter"
    """The provider will not process what the prompt holds."""


class AdapterError(YourtoolError):
    """A model request that failed; never holds a key, a header or a request body."""

    error_class: ClassVar[ErrorClass] = ErrorClass.OTHER
    transient: ClassVar[bool] = False
    """Whether errors of this class are worth another attempt, unless told otherwise."""
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
        """The HTTP status, where there was one."""
        self.retryable = self.transient if retryable is None else retryable
        """Whether the same request may be sent again."""
        self.retry_after: float | None = None
        """Seconds the provider asked to wait before that."""
        self.code = code or self.usual_code
        self.request_id: str | None = None
        """The provider's id of the request, for its support desk."""
        self.usage: object = None
        """The `TokenUsage` that the provider counted, where nothing of the reply was shown."""


class RateLimitError(AdapterError):
    """Too many requests, or a provider that says it is overloaded."""

    error_class = ErrorClass.RATE_LIMIT
    transient = True


class AuthError(AdapterError):
    """The key is missing, wrong or not allowed to do this."""

    error_class = ErrorClass.AUTH


class ServerError(AdapterError):
    """The provider failed."""

    error_class = ErrorClass.SERVER_ERROR
    transient = True


class NetworkError(AdapterError):
    """The provider was not reached, or the stream broke or stalled."""

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
    """None of the other classes."""


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
    """A tool that could not do its work; the text is the model's only feedback."""

    def __init__(self, message: str, failure: ToolFailure = ToolFailure.EXECUTION_ERROR) -> None:
        super().__init__(message)
        self.failure = failure


class ToolRegistrationError(YourtoolError):
    """A tool definition that no provider could be given; names the tool and the JSON path."""


class StoreError(YourtoolError):
    """The session database could not do what was asked."""


class BlobError(StoreError):
    """An attachment that cannot be kept, or is not what was kept."""


class InvalidMessageError(StoreError):
    """A complete message breaks an invariant; nothing was written."""


class SessionBusyError(StoreError):
    """Another process holds the session for writing."""


class SessionNotFoundError(StoreError):
    """No stored session has this id."""
