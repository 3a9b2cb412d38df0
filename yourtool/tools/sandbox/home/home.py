"""Readable parts of a home directory.

A list of what may be seen loses nothing when a new program stores a secret at a new place. It has
toolchains, caches and what builds read. Of files of settings, commands get a copy without secrets
(`home_settings.py`). Caches can be written, which changes a private copy only.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from yourtool.foundation.files import is_in, path_exists
from yourtool.permissions.credential_files import credential_names
from yourtool.tools.sandbox.home.home_settings import (
    Limits,
    copy_file,
    find_real_place,
    list_settings,
)

_TOOLS = (
    ".asdf", ".bun/bin", ".bun/install/global", ".cabal/bin", ".cabal/store", ".cargo/bin",
    ".cargo/env", ".composer/vendor", ".conda/envs", ".config/composer/vendor", ".deno/bin",
    ".dotnet/dotnet", ".dotnet/host", ".dotnet/packs", ".dotnet/sdk", ".dotnet/shared",
    ".dotnet/tools", ".elan", ".fnm", ".fvm", ".ghcup", ".goenv", ".guix-profile", ".jabba",
    ".jenv", ".juliaup", ".krew/bin", ".linuxbrew", ".local/bin", ".local/lib", ".local/share/fnm",
    ".local/share/gem", ".local/share/mise", ".local/share/nvim/mason", ".local/share/pipx",
    ".local/share/pnpm", ".local/share/rtx", ".local/share/uv/python", ".local/share/uv/tools",
    ".local/share/virtualenvs",
    ".local/pipx", ".local/venvs", ".mise", ".n", ".nix-profile", ".nodenv", ".nvm", ".opam",
    ".phpenv", ".plenv", ".poetry", ".proto", ".pyenv", ".rbenv", ".rubies", ".rustup", ".rvm",
    ".rye", ".sdkman", ".swiftly", ".tfenv", ".virtualenvs", ".volta", ".yarn/bin",
    ".zig", "Android/Sdk", "Library/Android/sdk", "R", "anaconda3", "bin", "flutter", "go/bin",
    "mambaforge", "micromamba", "miniconda3", "miniforge3", "perl5", "sdk",
)  # fmt: skip
_CACHES = (
    ".bun/install/cache", ".bundle/cache", ".cabal/packages", ".cache/Cypress",
    ".cache/JetBrains/RemoteDev/dist", ".cache/bazelisk", ".cache/ccache", ".cache/composer",
    ".cache/deno", ".cache/go-build", ".cache/golangci-lint", ".cache/huggingface/datasets",
    ".cache/huggingface/hub", ".cache/ms-playwright", ".cache/node", ".cache/pip", ".cache/pnpm",
    ".cache/pre-commit", ".cache/puppeteer", ".cache/pypoetry", ".cache/ruff", ".cache/sccache",
    ".cache/torch", ".cache/uv", ".cache/yarn", ".cache/zig", ".cargo/git", ".cargo/registry",
    ".ccache", ".composer/cache", ".conan2/p", ".coursier", ".gradle/caches", ".gradle/wrapper",
    ".ivy2/cache", ".ivy2/local", ".julia/artifacts", ".julia/compiled", ".julia/packages",
    ".julia/registries", ".keras/datasets", ".local/share/pnpm/store", ".m2/repository",
    ".m2/wrapper", ".mix", ".hex/packages", ".npm/_cacache", ".nuget/packages", ".pnpm-store",
    ".pub-cache/bin", ".pub-cache/hosted", ".sbt/boot", ".stack", ".terraform.d/plugin-cache",
    ".yarn/berry", "go/pkg", "nltk_data",
)  # fmt: skip
_VARIABLES = (
    "ANDROID_HOME", "ANDROID_SDK_ROOT", "CONDA_PREFIX", "DENO_INSTALL", "DOTNET_ROOT", "FVM_HOME",
    "GOROOT", "GRADLE_HOME", "JAVA_HOME", "JULIA_DEPOT_PATH", "MAVEN_HOME", "MAMBA_ROOT_PREFIX",
    "NVM_DIR", "PNPM_HOME", "PYENV_ROOT", "RBENV_ROOT", "RUSTUP_HOME", "SDKMAN_DIR", "VIRTUAL_ENV",
    "VOLTA_HOME",
)  # fmt: skip
"""Variables that name the directory of a toolchain."""
WRITTEN = (
    ".android", ".ansible", ".bun", ".bundle", ".cabal", ".cache", ".cargo", ".ccache", ".composer",
    ".conan2", ".conda", ".config", ".coursier", ".deno", ".docker", ".dotnet", ".electron",
    ".electron-gyp", ".eslintcache", ".expo", ".fontconfig", ".gem", ".gradle", ".hex", ".ipython",
    ".ivy2", ".java", ".jupyter", ".julia", ".keras", ".local", ".m2", ".matplotlib", ".mix",
    ".mypy_cache", ".node-gyp", ".npm", ".nuget", ".nv", ".parcel-cache", ".pip", ".pnpm-state",
    ".pnpm-store", ".pub-cache", ".pylint.d", ".sbt", ".stack", ".swiftpm", ".terraform.d",
    ".theano", ".vcpkg", ".yarn", "go",
)  # fmt: skip
"""Where programs write in a home directory; here they have private, empty directories."""
ALWAYS_WRITTEN = frozenset({".cache", ".cargo", ".config", ".local", ".npm", "go"})
"""Those that commands have although the home directory does not."""


class VisibleHome(Struct, frozen=True):
    """What of a home directory commands see; the paths are those in the home directory."""

    readable: tuple[Path, ...] = ()
    caches: tuple[Path, ...] = ()
    """Those of `readable` that can be written, without an effect on the original."""
    copies: tuple[tuple[Path, bytes], ...] = ()
    """Files with their contents."""
    hidden: tuple[Path, ...] = ()
    """Files with credentials directly in one of `readable`."""


def find_visible(
    home: Path,
    environment: Mapping[str, str],
    limits: Limits,
    *,
    added: Iterable[Path] = (),
) -> VisibleHome:
    """Return what of a home directory commands see; blocks.

    `added` are paths of the settings. Programs in `PATH` and the toolchains that variables name are
    seen as well.
    """
    named = [Path(environment[name]) for name in _VARIABLES if environment.get(name)]
    on_path = [Path(each) for each in environment.get("PATH", "").split(os.pathsep) if each]
    places = map(find_real_place, (*named, *on_path, *added))
    inner = [each for each in places if is_below(each, home)]
    tools = [home / each for each in _TOOLS]
    caches = [home / each for each in _CACHES]
    wanted = dict.fromkeys((*tools, *caches, *inner))
    readable = [each for each in wanted if _is_there(each) and not is_in(each, limits.removed)]
    is_cache = set(caches)
    return VisibleHome(
        tuple(readable),
        tuple(each for each in readable if each in is_cache),
        tuple(_copy_settings(home, _get_configuration(environment), limits)),
        tuple(_find_credentials(readable)),
    )


def is_below(path: Path, home: Path) -> bool:
    """Whether a path is in a directory, and not the directory itself."""
    return path != home and path.is_relative_to(home)


def _copy_settings(
    home: Path, configuration: Path | None, limits: Limits
) -> Iterator[tuple[Path, bytes]]:
    for path, clean in list_settings(home, configuration):
        if path_exists(path) and limits.allow(path):
            content = copy_file(path, clean)
            if content is not None:
                yield path, content


def _get_configuration(environment: Mapping[str, str]) -> Path | None:
    """Return the directory in place of `.config`, or None."""
    path = environment.get("XDG_CONFIG_HOME", "")
    return find_real_place(Path(path)) if path.startswith("/") else None


def _find_credentials(places: Iterable[Path]) -> Iterable[Path]:
    for place in places:
        try:
            names = [each.name for each in place.iterdir()]
        except OSError:
            continue
        yield from (place / name for name in credential_names(str(place), names))


def _is_there(path: Path) -> bool:
    """Return whether a path exists and can be looked at."""
    try:
        path.stat()
    except OSError:
        return False
    return True
