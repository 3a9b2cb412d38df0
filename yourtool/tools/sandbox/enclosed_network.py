"""The network of an enclosure: names, allowed hosts, and what commands could not reach."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack

from yourtool.tools.sandbox import names, proxy
from yourtool.tools.sandbox.downloads import NO_RETRIES
from yourtool.tools.sandbox.enclosure import Enclosure
from yourtool.tools.sandbox.refusals import Refusals
from yourtool.tools.sandbox.user_proxy import VARIABLES, is_user_proxy

_PROXY_PORT = 8118
"""Of the sandbox's own loopback address."""


class EnclosedNetwork:
    """What serves the loopback address of an enclosure."""

    def __init__(self, enclosure: Enclosure, refusals: Refusals) -> None:
        """`refusals`: where refused hosts are noted."""
        self._refusals = refusals
        self._enclosure = enclosure
        self._proxy: proxy.Proxy | None = None
        self._serving = AsyncExitStack()

    async def serve_names(self) -> None:
        """Answer the questions of commands for names."""
        if (listener := self._enclosure.names) is not None:
            await self._serving.enter_async_context(names.serve(listener, self._note_name))

    def _note_name(self, name: str) -> None:
        """Note a name, unless it is that of the user's proxy, which needs no answer."""
        if not is_user_proxy(name):
            self._refusals.note(name)

    async def use_hosts(self, hosts: Sequence[str]) -> None:
        """Let commands reach the hosts that are allowed now.

        Raises:
            OSError: a command has taken the port of the proxy.
        """
        if self._proxy is None and hosts:
            listener = await self._enclosure.listen(_PROXY_PORT)
            self._proxy = proxy.Proxy(hosts)
            self._proxy.refusals = self._refusals
            await self._serving.enter_async_context(self._proxy.serve(listener))
        if self._proxy is not None:
            self._proxy.hosts = tuple(hosts)

    def replace_variables(self, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of a command, with the proxy of the sandbox in place of the user's.

        Without allowed hosts, there is none, and programs fail at once.
        """
        passed = {
            name: value for name, value in environment.items() if name.lower() not in VARIABLES
        }
        reaches_any = self._proxy is not None and self._proxy.hosts
        return {**passed, **(proxy.build_variables(_PROXY_PORT) if reaches_any else NO_RETRIES)}

    async def close(self) -> None:
        """End what serves; idempotent."""
        await self._serving.aclose()
