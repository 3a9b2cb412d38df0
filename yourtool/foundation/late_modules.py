"""Late imports of modules.

The `__init__` of a package names its late modules. Other modules import them as modules, with
`from package import module`, and use what is in them through the module. Annotations with their
classes are quoted.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from yourtool.foundation.installed_files import were_files_replaced


class _LateModule(ModuleType):
    """A module that is not imported yet; the first access to a name imports it."""

    def __getattr__(self, name: str) -> Any:
        if self.__name__ not in sys.modules:
            were_files_replaced()  # then it is imported from those of the start
        return getattr(import_module(self.__name__), name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(import_module(self.__name__), name, value)


def late_modules(package: str, *names: str) -> Callable[[str], ModuleType]:
    """Return the `__getattr__` of a package, which Python calls for modules not yet imported.

    See https://peps.python.org/pep-0562/. Once a late module was imported by anyone, `from package
    import module` returns the module itself.
    """
    late = {name: _LateModule(f"{package}.{name}") for name in names}

    def get_late_module(name: str) -> ModuleType:
        if name in late:
            return late[name]
        raise AttributeError(f"module `{package}` has no attribute `{name}`")

    return get_late_module
