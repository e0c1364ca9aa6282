"""The stacks that `ralphy detect` knows: a language is a row, and what it needs is data.

A condition is "kind:what": `file:` a path or pattern, `dep:` a dependency, `table:` a section or key of a
configuration file, `script:` a script of the manifest that ends by itself, `ends:` one that watches but has a
form that ends, `tests:` what the test files show, `always:` no condition. In a command, `{words}` come from
the package manager or the runner.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ALWAYS = ("always:",)


@dataclass(frozen=True, slots=True)
class Manager:
    """A package manager, known by any of `when`; `words` fill the commands."""

    name: str
    when: tuple[str, ...]
    words: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Command:
    """A check that is offered when any of `when` holds; of several with one name the first is taken."""

    check: str
    run: str
    when: tuple[str, ...] = ALWAYS


@dataclass(frozen=True, slots=True)
class Language:
    """`markers` prove the language, `sources` (suffixes) only hint at it.

    `variants` are (condition, other name), `setup` (condition, the command that prepares a lane), `local` (condition,
    words) beats the manager's words. `example` is the test command to show where none is found; "" is the first one
    that needs no words.
    """

    name: str
    markers: tuple[str, ...]
    sources: tuple[str, ...]
    commands: tuple[Command, ...]
    reader: str = "words"
    managers: tuple[Manager, ...] = ()
    frameworks: tuple[tuple[str, str], ...] = ()
    variants: tuple[tuple[str, str], ...] = ()
    setup: tuple[tuple[str, str], ...] = ()
    local: tuple[tuple[str, Mapping[str, str]], ...] = ()
    example: str = ""


_PYTHON = Language(
    "python",
    ("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "requirements-dev.txt", "Pipfile"),
    (".py",),
    (
        Command(
            "test",
            "{tool}pytest -q",
            (
                *("dep:pytest", "table:tool.pytest", "table:tool:pytest", "table:pytest"),
                *("file:pytest.ini", "file:.pytest.ini", "file:conftest.py", "file:tests/conftest.py"),
                "tests:pytest",
            ),
        ),
        Command("test", "{python} manage.py test", ("file:manage.py",)),
        Command("test", "{python} -m unittest {discover} -v", ("tests:unittest",)),
        Command("test", "{tool}pytest -q", ("tests:any",)),
        Command("lint", "{tool}ruff check .", ("file:ruff.toml", "file:.ruff.toml", "table:tool.ruff")),
        Command("lint", "{tool}flake8", ("file:.flake8", "table:flake8")),
        Command(
            "typecheck",
            "{tool}mypy",
            ("table:tool.mypy.files", "table:tool.mypy.packages", "table:mypy.files", "table:mypy.packages"),
        ),
        Command("typecheck", "{tool}mypy .", ("file:mypy.ini", "file:.mypy.ini", "table:tool.mypy", "table:mypy")),
    ),
    reader="python",
    managers=(
        Manager("uv", ("file:uv.lock", "table:tool.uv"), {"tool": "uv run ", "python": "uv run python"}),
        Manager(
            "poetry",
            ("file:poetry.lock", "table:tool.poetry"),
            {"tool": "poetry run ", "python": "poetry run python"},
        ),
        Manager("pdm", ("file:pdm.lock", "table:tool.pdm"), {"tool": "pdm run ", "python": "pdm run python"}),
        Manager(
            "pipenv",
            ("file:Pipfile.lock", "file:Pipfile"),
            {"tool": "pipenv run ", "python": "pipenv run python"},
        ),
        Manager("pip", ALWAYS, {"tool": "python3 -m ", "python": "python3"}),
    ),
    frameworks=tuple(
        (f"dep:{name}", name)
        for name in ("django", "fastapi", "flask", "litestar", "starlette", "aiohttp", "streamlit", "click")
    ),
    local=tuple(
        (f"file:{folder}/bin/python", {"tool": f"{folder}/bin/python -m ", "python": f"{folder}/bin/python"})
        for folder in (".venv", "venv")
    ),
    example="pytest -q",
)
_NODE = Language(
    "javascript",
    ("package.json",),
    (".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx"),
    (
        Command("test", "{test}", ("script:test",)),
        *(Command("test", f"{{run}} {name}", (f"script:{name}",)) for name in ("test:ci", "test:unit")),
        Command("test", "{exec} {ending}", ("ends:test",)),
        Command("test", "node --test", ("tests:node:test",)),
        Command("test", "{exec} vitest run", ("tests:vitest",)),
        Command("test", "{exec} jest", ("tests:jest",)),
        Command("test", "bun test", ("tests:bun:test",)),
        Command("test", "node --test", ("tests:any",)),
        *(Command("lint", f"{{run}} {name}", (f"script:{name}",)) for name in ("lint", "lint:check")),
        *(
            Command("typecheck", f"{{run}} {name}", (f"script:{name}",))
            for name in ("typecheck", "type-check", "check-types", "tsc")
        ),
        Command("typecheck", "{exec} {types}", ("table:tsconfig.json",)),
        Command("build", "{run} build", ("script:build",)),
    ),
    reader="node",
    managers=(
        Manager("pnpm", ("file:pnpm-lock.yaml",), {"test": "pnpm test", "run": "pnpm run", "exec": "pnpm exec"}),
        Manager("yarn", ("file:yarn.lock",), {"test": "yarn test", "run": "yarn run", "exec": "yarn"}),
        Manager("bun", ("file:bun.lock", "file:bun.lockb"), {"test": "bun run test", "run": "bun run", "exec": "bunx"}),
        Manager("npm", ALWAYS, {"test": "npm test", "run": "npm run", "exec": "npx"}),
    ),
    frameworks=(
        *(
            ("dep:next", "next"),
            ("dep:nuxt", "nuxt"),
            ("dep:@angular/core", "angular"),
            ("dep:astro", "astro"),
        ),
        *(
            ("dep:@nestjs/core", "nest"),
            ("dep:@sveltejs/kit", "sveltekit"),
            ("dep:@remix-run/react", "remix"),
        ),
        *(("dep:svelte", "svelte"), ("dep:vue", "vue"), ("dep:react", "react"), ("dep:express", "express")),
        *(("dep:fastify", "fastify"), ("dep:hono", "hono"), ("dep:koa", "koa")),
    ),
    variants=(("file:tsconfig.json", "typescript"), ("dep:typescript", "typescript")),
)
_GO = Language(
    "go",
    ("go.mod", "go.work"),
    (".go",),
    (Command("test", "go test -v ./...", ("file:go.mod",)), Command("vet", "go vet ./...", ("file:go.mod",))),
    managers=(Manager("go", ALWAYS),),
    frameworks=(
        *(("dep:github.com/gin-gonic/gin", "gin"), ("dep:github.com/labstack/echo*", "echo")),
        *(("dep:github.com/gofiber/fiber*", "fiber"), ("dep:github.com/go-chi/chi*", "chi")),
        ("dep:github.com/spf13/cobra", "cobra"),
    ),
)
_RUST = Language(
    "rust",
    ("Cargo.toml",),
    (".rs",),
    (
        Command("test", "cargo test{workspace}"),
        Command(
            "lint",
            "cargo clippy{workspace} --all-targets",
            ("file:clippy.toml", "file:.clippy.toml", "table:lints.clippy", "table:workspace.lints.clippy"),
        ),
        Command("typecheck", "cargo check{workspace} --all-targets"),
        Command("build", "cargo build{workspace}"),
    ),
    reader="cargo",
    managers=(Manager("cargo", ALWAYS),),
    frameworks=tuple((f"dep:{name}", name) for name in ("axum", "actix-web", "rocket", "tauri", "leptos", "clap")),
    example="cargo test",
)
_RUBY = Language(
    "ruby",
    ("Gemfile", "*.gemspec"),
    (".rb",),
    (
        Command("test", "bundle exec rspec", ("file:.rspec", "dep:rspec", "dep:rspec-rails")),
        Command("test", "bundle exec rails test", ("dep:rails",)),
        Command("test", "bundle exec rake test", ("file:Rakefile",)),
        Command("lint", "bundle exec rubocop", ("file:.rubocop.yml",)),
    ),
    managers=(Manager("bundler", ALWAYS),),
    frameworks=(("dep:rails", "rails"), ("dep:sinatra", "sinatra"), ("dep:hanami", "hanami")),
)
_PHP = Language(
    "php",
    ("composer.json",),
    (".php",),
    (
        Command("test", "composer test", ("script:test",)),
        Command("test", "vendor/bin/pest", ("dep:pestphp/pest",)),
        Command("test", "vendor/bin/phpunit", ("file:phpunit.xml", "file:phpunit.xml.dist")),
        Command("test", "vendor/bin/phpunit {tests}", ("tests:phpunit",)),
        Command("lint", "vendor/bin/phpcs", ("file:phpcs.xml", "file:phpcs.xml.dist")),
        Command("typecheck", "vendor/bin/phpstan analyse", ("file:phpstan.neon", "file:phpstan.neon.dist")),
    ),
    reader="composer",
    managers=(Manager("composer", ALWAYS),),
    frameworks=(("dep:laravel/framework", "laravel"), ("dep:symfony/framework-bundle", "symfony")),
)
_MAVEN = {
    "build": "mvn -q -B",
    "compile": "test-compile",
    "package": "package -DskipTests",
    "checkstyle": "checkstyle:check",
    "spotless": "spotless:check",
    "detekt": "detekt:check",
    "ktlint": "ktlint:check",
}
_GRADLE = {
    "build": "gradle -q",
    "compile": "testClasses",
    "package": "assemble",
    "checkstyle": "checkstyleMain",
    "spotless": "spotlessCheck",
    "detekt": "detekt",
    "ktlint": "ktlintCheck",
}
_JVM = Language(
    "java",
    ("pom.xml", "build.gradle", "build.gradle.kts", "settings.gradle", "settings.gradle.kts"),
    (".java", ".kt"),
    (
        Command("test", "{build} test"),
        *(
            Command("lint", f"{{build}} {{{name}}}", (f"dep:*{name}*",))
            for name in ("checkstyle", "spotless", "detekt", "ktlint")
        ),
        # Gradle has this task only where a plugin for the JVM is, which Android's is not.
        Command(
            "typecheck",
            "{build} {compile}",
            (
                *("file:pom.xml", "dep:java", "dep:java-library", "dep:application"),
                *("dep:jvm", "dep:org.jetbrains.kotlin.jvm"),
            ),
        ),
        Command("build", "{build} {package}"),
    ),
    managers=(Manager("maven", ("file:pom.xml",), _MAVEN), Manager("gradle", ALWAYS, _GRADLE)),
    frameworks=(
        ("dep:*spring*boot*", "spring-boot"),
        ("dep:*quarkus*", "quarkus"),
        ("dep:*micronaut*", "micronaut"),
    ),
    variants=(("file:build.gradle.kts", "kotlin"), ("dep:*kotlin*", "kotlin")),
    local=(
        ("file:mvnw", _MAVEN | {"build": "./mvnw -q -B"}),
        ("file:gradlew", _GRADLE | {"build": "./gradlew -q"}),
    ),
    example="mvn -q -B test",
)
_ELIXIR = Language(
    "elixir",
    ("mix.exs",),
    (".ex", ".exs"),
    (
        Command("test", "mix test"),
        Command("lint", "mix credo", ("dep:credo",)),
        Command("format", "mix format --check-formatted", ("file:.formatter.exs",)),
    ),
    managers=(Manager("mix", ALWAYS),),
    frameworks=(("dep:phoenix", "phoenix"),),
)
_DART = Language(
    "dart",
    ("pubspec.yaml",),
    (".dart",),
    (
        Command("test", "{dart} test", ("file:test",)),
        Command("lint", "{dart} analyze", ("file:analysis_options.yaml",)),
    ),
    managers=(
        Manager("flutter", ("dep:flutter",), {"dart": "flutter"}),
        Manager("pub", ALWAYS, {"dart": "dart"}),
    ),
    frameworks=(("dep:flutter", "flutter"),),
    example="dart test",
)
# Its build checks the types.
_CSHARP = Language(
    "csharp",
    ("*.sln", "*.slnx", "*.csproj", "*/*.csproj"),
    (".cs",),
    (
        Command("test", "dotnet test"),
        Command("lint", "dotnet format --verify-no-changes", ("file:.editorconfig",)),
        Command("build", "dotnet build"),
    ),
    managers=(Manager("nuget", ALWAYS),),
    frameworks=(("dep:microsoft.net.sdk.web", "aspnet"),),
)
_SCALA = Language(
    "scala",
    ("build.sbt", "project/plugins.sbt"),
    (".scala",),
    (
        Command("test", "sbt test"),
        Command("lint", "sbt scalafmtCheckAll", ("dep:sbt-scalafmt",)),
        Command("lint", 'sbt "scalafixAll --check"', ("dep:sbt-scalafix",)),
        Command("typecheck", "sbt Test/compile"),
        Command("build", "sbt package"),
    ),
    managers=(Manager("sbt", ALWAYS),),
    frameworks=(("dep:play", "play"), ("dep:*http4s*", "http4s"), ("dep:zio", "zio")),
)
_SWIFT = Language(
    "swift",
    ("Package.swift",),
    (".swift",),
    (
        Command("test", "swift test"),
        Command("lint", "swiftlint lint --strict", ("file:.swiftlint.yml",)),
        Command("lint", "swift format lint --strict --recursive .", ("file:.swift-format",)),
        Command("typecheck", "swift build --build-tests"),
        Command("build", "swift build"),
    ),
    managers=(Manager("swiftpm", ALWAYS),),
    frameworks=(("dep:vapor", "vapor"),),
)
# One command configures, builds and tests, so that tests never run on what was built from other sources.
_CTEST = 'ctest --build-and-test . build --build-generator "Unix Makefiles"'
_CPP = Language(
    "cpp",
    ("CMakeLists.txt", "meson.build"),
    (".cc", ".cpp", ".cxx", ".hpp"),
    (
        Command("test", "cmake --workflow --preset {preset}", ("tests:preset",)),
        Command("test", f"{_CTEST} --test-command ctest --output-on-failure", ("tests:ctest",)),
        Command("test", "meson test -C build", ("file:meson.build",)),
        Command("build", _CTEST, ("tests:none",)),
    ),
    reader="cmake",
    managers=(
        Manager("conan", ("file:conanfile.txt", "file:conanfile.py")),
        Manager("vcpkg", ("file:vcpkg.json",)),
    ),
    frameworks=(
        *(("dep:qt6", "qt"), ("dep:qt5", "qt"), ("dep:boost", "boost")),
        *(("dep:gtest", "googletest"), ("dep:googletest", "googletest"), ("dep:catch2", "catch2")),
    ),
    setup=(("file:meson.build", "meson setup build"),),
    example="make test",
)

# The order decides between languages that are equally strong.
LANGUAGES: tuple[Language, ...] = (
    *(_PYTHON, _NODE, _GO, _RUST, _RUBY, _PHP, _JVM, _ELIXIR, _DART),
    *(_CSHARP, _SCALA, _SWIFT),
    Language("haskell", ("stack.yaml",), (".hs",), (Command("test", "stack test"),)),
    Language("haskell", ("*.cabal",), (".hs",), (Command("test", "cabal test"),)),
    Language("zig", ("build.zig",), (".zig",), (Command("test", "zig build test"),)),
    Language("ocaml", ("dune-project",), (".ml",), (Command("test", "dune test"),)),
    Language("clojure", ("project.clj",), (".clj",), (Command("test", "lein test"),)),
    Language("deno", ("deno.json", "deno.jsonc"), (), (Command("test", "deno test"), Command("lint", "deno lint"))),
    _CPP,
    Language("c", (), (".c", ".h"), ()),
)
# A rule may have several targets: `build test: …`.
_RULE = r"(?m)^(?:[^\s:=#]+[ \t]+){0,50}{target}(?:[ \t]+[^\s:=#]+){0,50}[ \t]*:(?!=)"
# Asked for the checks that no language offers: (files, a line that declares the target, command).
TASK_RUNNERS: tuple[tuple[tuple[str, ...], str, str], ...] = (
    (("GNUmakefile", "makefile", "Makefile"), _RULE, "make {target}"),
    (("justfile", "Justfile", ".justfile"), r"(?m)^{target}\b[^:=\n]*:(?!=)", "just {target}"),
    (("Taskfile.yml", "Taskfile.yaml"), r"(?m)^  [\"']?{target}[\"']?:", "task {target}"),
)
# The check, and the targets that are it, the first that is declared.
TARGETS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("test", ("test", "check")),
    ("lint", ("lint",)),
    ("typecheck", ("typecheck", "type-check", "types")),
)
SKIPPED_FOLDERS = frozenset(
    ("node_modules", "vendor", "venv", "env", "target", "dist", "build", "__pycache__", "site-packages")
)
