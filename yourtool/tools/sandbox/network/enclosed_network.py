"""The network of an enclosure."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, AsyncExitStack, nullcontext

from yourtool.tools.sandbox import names
from yourtool.tools.sandbox.enclosure import Enclosure
from yourtool.tools.sandbox.network import host_ports, proxy
from yourtool.tools.sandbox.network.downloads import NO_RETRIES
from yourtool.tools.sandbox.network.loopback_answers import read_answers
from yourtool.tools.sandbox.network.refusals import Refusal, Refusals
from yourtool.tools.sandbox.network.user_proxy import (
    EXCEPTIONS,
    VARIABLES,
    has_user_proxy,
    is_user_proxy,
)

_PROXY_PORTS = range(8118, 10_000)
"""Of the sandbox's own loopback address; the first one that the settings do not use."""
_ANY_PORT = 0


class EnclosedNetwork:
    """What serves the loopback address of an enclosure."""

    def __init__(self, enclosure: Enclosure, refusals: Refusals, ports: Sequence[int]) -> None:
        """`refusals`: where refused hosts are noted; `ports`: of this machine, for commands."""
        self._ports = frozenset(ports)
        self._refusals = refusals
        self._enclosure = enclosure
        self._proxy_port = next(each for each in _PROXY_PORTS if each not in self._ports)
        self._proxy: proxy.Proxy | None = None
        self._serving = AsyncExitStack()

    async def serve(self) -> None:
        """Answer names, pass connections on to the ports of this machine, and note refused ones.

        Raises:
            OSError: a port cannot be used.
        """
        for port in self._ports:
            listener = await self._enclosure.listen(port)
            await self._serving.enter_async_context(host_ports.serve(listener, port))
        if (packets := self._enclosure.answers) is not None:
            packets.setblocking(False)
            loop = asyncio.get_running_loop()
            loop.add_reader(packets, self.look)
            self._serving.callback(loop.remove_reader, packets)
        if (listener := self._enclosure.names) is not None:
            await self._serving.enter_async_context(names.serve(listener, self._note_name))

    def look(self) -> None:
        """Note the connections that were refused until now."""
        if (packets := self._enclosure.answers) is not None:
            for answer in read_answers(packets):
                self._refusals.note_port(answer.port, is_refused=answer.is_refused)

    def list_refused(self, refused: Mapping[str, Refusal]) -> tuple[Refusal, ...]:
        """Return what has been refused until now of what is noted in `refused`."""
        self.look()
        return tuple(refused.values())

    def _note_name(self, name: str) -> None:
        """Note a name, unless it is that of the user's proxy, which needs no answer."""
        if not is_user_proxy(name):
            self._refusals.note(name)

    async def use_hosts(
        self, get_hosts: Callable[[], Sequence[str]], *, has_network: bool = False
    ) -> None:
        """Let commands reach the hosts that are allowed at the moment of each connection.

        `has_network`: the next command reaches every public host. Where the user has a proxy, ours
        takes its place also without allowed hosts, so that it sees what programs ask for.

        Raises:
            OSError: no port can be used.
        """
        if self._proxy is None and (get_hosts() or has_network or has_user_proxy()):
            try:
                listener = await self._enclosure.listen(self._proxy_port)
            except OSError:  # a command has taken it
                listener = await self._enclosure.listen(_ANY_PORT)
                self._proxy_port = listener.getsockname()[1]
            self._proxy = proxy.Proxy(get_hosts())
            self._proxy.refusals, self._proxy.get_hosts = self._refusals, get_hosts
            await self._serving.enter_async_context(self._proxy.serve(listener))

    def serving_all(self, *, has_network: bool) -> AbstractContextManager[str]:
        """Yield the password of a command that reaches every public host; empty for others."""
        if self._proxy is None or not has_network:
            return nullcontext("")
        return self._proxy.serving_all()

    def replace_variables(self, environment: Mapping[str, str], password: str) -> dict[str, str]:
        """Return the variables of a command, with the proxy of the sandbox in place of the user's.

        Without allowed hosts and a password, programs do not try again.
        """
        variables = dict(environment)
        reaches_any = password or (self._proxy is not None and self._proxy.get_hosts())
        if self._proxy is None or not (reaches_any or has_user_proxy()):
            return {**variables, **NO_RETRIES}
        own = proxy.build_variables(self._proxy_port, password)
        for name in variables:
            if name.lower() in VARIABLES:
                variables[name] = own["NO_PROXY" if name.lower() in EXCEPTIONS else "HTTP_PROXY"]
        return {**variables, **own, **({} if reaches_any else NO_RETRIES)}

    async def close(self) -> None:
        """End what serves; idempotent."""
        await self._serving.aclose()
