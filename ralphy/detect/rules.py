"""The stacks that `ralphy detect` knows: a row for each language.

A condition is "kind:name": `file:` a path or pattern, `dep:` a dependency, `table:` a section or key of a configuration
file, `script:` a script of the manifest that ends by itself, `ends:` one that watches, but has a form that ends,
`tests:` a runner of the test files, `always:` no condition. `{words}` in a command come from the package manager or the
runner.
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
class CheckCommand:
    """A check that is offered if any of `when` holds; of several with one name the first one wins."""

    check: str
    run: str
    when: tuple[str, ...] = ALWAYS


@dataclass(frozen=True, slots=True)
class Language:
    """`markers` are files that prove the language, `sources` suffixes that hint at it.

    `variants` are (condition, other name), `setup` (condition, the command that prepares a lane), `local` (condition,
    words) beats the manager's words. `example` is the test command to show where none is found; "" is the first one
    that needs no words.
    """

    name: str
    markers: tuple[str, ...]
    sources: tuple[str, ...]
    commands: tuple[CheckCommand, ...]
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
        CheckCommand(
            "test",
            "{tool}pytest -q",
            (
                *("dep:pytest", "table:tool.pytest", "table:tool:pytest", "table:pytest"),
                *("file:pytest.ini", "file:.pytest.ini", "file:conftest.py", "file:tests/conftest.py"),
                "tests:pytest",
            ),
        ),
        CheckCommand("test", "{python} manage.py test -v 2", ("file:manage.py",)),
        CheckCommand("test", "{python} -m unittest {discover} -v", ("tests:unittest",)),
        CheckCommand("test", "{tool}pytest -q", ("tests:any",)),
        CheckCommand("lint", "{tool}ruff check .", ("file:ruff.toml", "file:.ruff.toml", "table:tool.ruff")),
        CheckCommand("lint", "{tool}flake8", ("file:.flake8", "table:flake8")),
        CheckCommand(
            "typecheck",
            "{tool}mypy",
            ("table:tool.mypy.files", "table:tool.mypy.packages", "table:mypy.files", "table:mypy.packages"),
        ),
        CheckCommand("typecheck", "{tool}mypy .", ("file:mypy.ini", "file:.mypy.ini", "table:tool.mypy", "table:mypy")),
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
        CheckCommand("test", "{test}", ("script:test",)),
        *(CheckCommand("test", f"{{run}} {name}", (f"script:{name}",)) for name in ("test:ci", "test:unit")),
        CheckCommand("test", "{exec} {ending}", ("ends:test",)),
        CheckCommand("test", "node --test", ("tests:node:test",)),
        CheckCommand("test", "{exec} vitest run --reporter=verbose", ("tests:vitest",)),
        CheckCommand("test", "{exec} jest", ("tests:jest",)),
        CheckCommand("test", "bun test", ("tests:bun:test",)),
        CheckCommand("test", "node --test", ("tests:any",)),
        *(CheckCommand("lint", f"{{run}} {name}", (f"script:{name}",)) for name in ("lint", "lint:check")),
        *(
            CheckCommand("typecheck", f"{{run}} {name}", (f"script:{name}",))
            for name in ("typecheck", "type-check", "check-types", "tsc")
        ),
        CheckCommand("typecheck", "{exec} {types}", ("table:tsconfig.json",)),
        CheckCommand("build", "{run} build", ("script:build",)),
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
    (CheckCommand("test", "go test -v ./...", ("file:go.mod",)), CheckCommand("vet", "go vet ./...", ("file:go.mod",))),
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
        CheckCommand("test", "cargo test{workspace}"),
        CheckCommand(
            "lint",
            "cargo clippy{workspace} --all-targets",
            ("file:clippy.toml", "file:.clippy.toml", "table:lints.clippy", "table:workspace.lints.clippy"),
        ),
        CheckCommand("typecheck", "cargo check{workspace} --all-targets"),
        CheckCommand("build", "cargo build{workspace}"),
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
        CheckCommand("test", "bundle exec rspec", ("file:.rspec", "dep:rspec", "dep:rspec-rails")),
        CheckCommand("test", "bundle exec rails test", ("dep:rails",)),
        CheckCommand("test", "bundle exec rake test", ("file:Rakefile",)),
        CheckCommand("lint", "bundle exec rubocop", ("file:.rubocop.yml",)),
    ),
    managers=(Manager("bundler", ALWAYS),),
    frameworks=(("dep:rails", "rails"), ("dep:sinatra", "sinatra"), ("dep:hanami", "hanami")),
)
_PHP = Language(
    "php",
    ("composer.json",),
    (".php",),
    (
        CheckCommand("test", "composer test", ("script:test",)),
        CheckCommand("test", "vendor/bin/pest", ("dep:pestphp/pest",)),
        CheckCommand("test", "vendor/bin/phpunit", ("file:phpunit.xml", "file:phpunit.xml.dist")),
        CheckCommand("test", "vendor/bin/phpunit {tests}", ("tests:phpunit",)),
        CheckCommand("lint", "vendor/bin/phpcs", ("file:phpcs.xml", "file:phpcs.xml.dist")),
        CheckCommand("typecheck", "vendor/bin/phpstan analyse", ("file:phpstan.neon", "file:phpstan.neon.dist")),
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
        CheckCommand("test", "{build} test"),
        *(
            CheckCommand("lint", f"{{build}} {{{name}}}", (f"dep:*{name}*",))
            for name in ("checkstyle", "spotless", "detekt", "ktlint")
        ),
        # Gradle has this task only where a plugin for the JVM is, which Android's is not.
        CheckCommand(
            "typecheck",
            "{build} {compile}",
            (
                *("file:pom.xml", "dep:java", "dep:java-library", "dep:application"),
                *("dep:jvm", "dep:org.jetbrains.kotlin.jvm"),
            ),
        ),
        CheckCommand("build", "{build} {package}"),
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
        CheckCommand("test", "mix test"),
        CheckCommand("lint", "mix credo", ("dep:credo",)),
        CheckCommand("format", "mix format --check-formatted", ("file:.formatter.exs",)),
    ),
    managers=(Manager("mix", ALWAYS),),
    frameworks=(("dep:phoenix", "phoenix"),),
)
_DART = Language(
    "dart",
    ("pubspec.yaml",),
    (".dart",),
    (
        CheckCommand("test", "{dart} test", ("file:test",)),
        CheckCommand("lint", "{dart} analyze", ("file:analysis_options.yaml",)),
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
        CheckCommand("test", "dotnet test"),
        CheckCommand("lint", "dotnet format --verify-no-changes", ("file:.editorconfig",)),
        CheckCommand("build", "dotnet build"),
    ),
    managers=(Manager("nuget", ALWAYS),),
    frameworks=(("dep:microsoft.net.sdk.web", "aspnet"),),
)
_SCALA = Language(
    "scala",
    ("build.sbt", "project/plugins.sbt"),
    (".scala",),
    (
        CheckCommand("test", "sbt test"),
        CheckCommand("lint", "sbt scalafmtCheckAll", ("dep:sbt-scalafmt",)),
        CheckCommand("lint", 'sbt "scalafixAll --check"', ("dep:sbt-scalafix",)),
        CheckCommand("typecheck", "sbt Test/compile"),
        CheckCommand("build", "sbt package"),
    ),
    managers=(Manager("sbt", ALWAYS),),
    frameworks=(("dep:play", "play"), ("dep:*http4s*", "http4s"), ("dep:zio", "zio")),
)
_SWIFT = Language(
    "swift",
    ("Package.swift",),
    (".swift",),
    (
        CheckCommand("test", "swift test"),
        CheckCommand("lint", "swiftlint lint --strict", ("file:.swiftlint.yml",)),
        CheckCommand("lint", "swift format lint --strict --recursive .", ("file:.swift-format",)),
        CheckCommand("typecheck", "swift build --build-tests"),
        CheckCommand("build", "swift build"),
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
        CheckCommand("test", "cmake --workflow --preset {preset}", ("tests:preset",)),
        CheckCommand("test", f"{_CTEST} --test-command ctest --output-on-failure", ("tests:ctest",)),
        CheckCommand("test", "meson test -C build", ("file:meson.build",)),
        CheckCommand("build", _CTEST, ("tests:none",)),
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
    Language("haskell", ("stack.yaml",), (".hs",), (CheckCommand("test", "stack test"),)),
    Language("haskell", ("*.cabal",), (".hs",), (CheckCommand("test", "cabal test"),)),
    Language("zig", ("build.zig",), (".zig",), (CheckCommand("test", "zig build test"),)),
    Language("ocaml", ("dune-project",), (".ml",), (CheckCommand("test", "dune test"),)),
    Language("clojure", ("project.clj",), (".clj",), (CheckCommand("test", "lein test"),)),
    Language(
        "deno", ("deno.json", "deno.jsonc"), (), (CheckCommand("test", "deno test"), CheckCommand("lint", "deno lint"))
    ),
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
