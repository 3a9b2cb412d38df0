"""The parts of a home directory that commands can read; everything else in it is hidden.

A list of what may be seen loses nothing when a new program stores a secret at a new place. It has
toolchains, caches and what builds read. Of small files of settings, commands get a copy without the
lines that look like secrets. Caches can be written, which changes a private copy only.
"""

import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from yourtool.files import is_in
from yourtool.permissions.credential_files import credential_names

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
_SETTINGS = (
    ".bunfig.toml", ".cargo/config", ".cargo/config.toml", ".condarc", ".config/bat/config",
    ".config/black", ".config/fd/ignore", ".config/flake8", ".config/git/attributes",
    ".config/git/config", ".config/git/ignore", ".config/go/env", ".config/mise/config.toml",
    ".config/mypy/config", ".config/pep8", ".config/pip/pip.conf", ".config/pnpm/rc",
    ".config/pycodestyle", ".config/pylintrc", ".config/ripgrep/config", ".config/ruff/ruff.toml",
    ".config/uv/uv.toml", ".config/yamllint/config", ".editorconfig", ".gemrc", ".gitattributes",
    ".gitconfig", ".gitignore", ".gitignore_global", ".node-version", ".npmrc", ".pip/pip.conf",
    ".prettierrc", ".pylintrc", ".python-version", ".ripgreprc", ".ruby-version", ".rustfmt.toml",
    ".tool-versions", ".yarnrc", ".yarnrc.yml", ".bazelrc", ".clang-format", ".clang-tidy",
    ".mise.toml", ".terraform-version", ".java-version", ".go-version", ".nvmrc",
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
_MAX_SETTINGS_BYTES = 65_536
_SECRET_LINE = re.compile(
    rb"token|passw|secret|_auth|authorization|extraheader|credential|api_?key|private"
    rb"|://[^/\s@]{0,300}:[^/\s@]{1,300}@",
    re.IGNORECASE,
)


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
    *,
    added: Iterable[Path] = (),
    removed: Iterable[Path] = (),
) -> VisibleHome:
    """Return what of a home directory commands see; blocks.

    `added` and `removed` are paths of the settings. Programs in `PATH` and the toolchains that
    variables name are seen as well.
    """
    closed = tuple(removed)
    named = [Path(environment[name]) for name in _VARIABLES if environment.get(name)]
    on_path = [Path(each) for each in environment.get("PATH", "").split(os.pathsep) if each]
    inner = [each for each in (*named, *on_path, *added) if is_below(each, home)]
    tools = [home / each for each in _TOOLS]
    caches = [home / each for each in _CACHES]
    wanted = dict.fromkeys((*tools, *caches, *inner))
    readable = [each for each in wanted if _is_there(each) and not is_in(each, closed)]
    is_cache = set(caches)
    return VisibleHome(
        tuple(readable),
        tuple(each for each in readable if each in is_cache),
        tuple(_copy_settings(home, closed)),
        tuple(_find_credentials(readable)),
    )


def is_below(path: Path, home: Path) -> bool:
    """Whether a path is in a directory, and not the directory itself."""
    return path != home and path.is_relative_to(home)


def _copy_settings(home: Path, closed: tuple[Path, ...]) -> Iterable[tuple[Path, bytes]]:
    for name in _SETTINGS:
        path = home / name
        if is_in(path, closed):
            continue
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            continue
        with os.fdopen(descriptor, "rb") as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                yield path, without_secrets(file.read(_MAX_SETTINGS_BYTES))


def without_secrets(content: bytes) -> bytes:
    """Return the lines of a file of settings that do not look like secrets."""
    lines = content.splitlines(keepends=True)
    return b"".join(line for line in lines if _SECRET_LINE.search(line) is None)


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
