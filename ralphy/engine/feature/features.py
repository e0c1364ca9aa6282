"""The features of a repository and their lives, read from the checkout and from Git's objects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ralphy.config.values import Config
from ralphy.documents.feature_folder import NAME, Feature, artifact_digest, listed
from ralphy.documents.prd_reader import check_prd
from ralphy.engine.workspace.checkout import Checkout
from ralphy.engine.workspace.workspace import base_branch
from ralphy.errors import InvalidInput, NotFound
from ralphy.files.read import read_input, read_regular
from ralphy.git import commands as git
from ralphy.git.commands import is_squashed
from ralphy.git.objects import TREE
from ralphy.pipeline.life import Life, Places, holds_work, is_done, is_rejected, life_of, newest
from ralphy.pipeline.model import Prd
from ralphy.pipeline.steps.table import document_at
from ralphy.text.strict_json import MAX_BYTES


@dataclass(frozen=True, slots=True)
class Base:
    """The base branch: its name, and its commits as they are known here and from remotes."""

    name: str
    tips: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FeatureLocation:
    """A feature, wherever it is. `at` is the commit that holds its newest state; "" if that is the checkout."""

    feature: Feature
    life: Life
    branch: str
    base: str
    at: str
    has_branch: bool


def base_of(checkout: Checkout, config: Config, noted: str = "") -> Base:
    """The base branch of a feature; `noted` is what its prd.json says."""
    repository = checkout.repository
    name = base_branch(repository, config, noted)
    refs = (f"refs/heads/{name}", f"refs/remotes/origin/{name}") if name else ()
    return Base(name, tuple(dict.fromkeys(tip for ref in refs if (tip := git.resolve(repository, ref)))))


def places_of(checkout: Checkout, config: Config, path: str, branch: str, here: Prd | None, base: Base) -> Places:
    """prd.json of the feature at `path` in every place where it may be."""
    at = git.current_branch(checkout.repository)
    tip = git.resolve(checkout.repository, f"refs/heads/{branch}")
    on_branch = prd_at(checkout, tip, path)
    on_base = [prd for oid in base.tips if (prd := prd_at(checkout, oid, path))]
    code = checkout.objects.id_without(checkout.objects.tree_of(tip), path) if on_branch else ""
    return Places(
        here=here,
        branch=on_branch,
        base=next((prd for prd in on_base if is_done(prd)), on_base[0] if on_base else None),
        is_checked_out=at == branch,
        is_live=_is_live(checkout, path, here),
        prefers_base=at.startswith(config.git.branch_prefix) and at not in (branch, base.name),
        is_in_base=on_branch is not None
        and (
            any(holds_work(prd, on_branch, code) for prd in on_base)  # asks no git: most features are long merged
            or any(_is_in(checkout, tip, oid, on_branch, path) for oid in base.tips)
        ),
        code=code,
    )


def _is_live(checkout: Checkout, path: str, here: Prd | None) -> bool:
    """Does prd.json in the checkout differ from the one that the commit has which is checked out?"""
    tracked = prd_at(checkout, git.head_of(checkout.repository), path)
    return here is not None and (tracked is None or tracked.raw != here.raw)


def _is_in(checkout: Checkout, tip: str, base: str, prd: Prd, path: str) -> bool:
    """Is the branch's work in the base? Neither commit ever changes, so the answer is kept."""
    known = checkout.merged.get((tip, base))
    if known is None:
        repository = checkout.repository
        known = checkout.has_ancestor(tip, base)
        if not known and is_done(prd) and prd.pr:
            known = is_squashed(repository, tip, base, outside=path)
        checkout.merged[(tip, base)] = known
    return known


def prd_at(checkout: Checkout, commit: str, path: str) -> Prd | None:
    """prd.json as a commit has it; None if it is missing or not valid."""
    if not commit:
        return None
    entry = checkout.objects.at(checkout.objects.tree_of(commit), f"{path}/prd.json")
    if entry is None or entry.mode == TREE:
        return None
    return prd_of(checkout, entry.oid, path)


def prd_of(checkout: Checkout, oid: str, path: str) -> Prd | None:
    """prd.json as a blob has it; None if it is not valid."""
    if oid in checkout.prds:
        return checkout.prds[oid]
    return checkout.keep_prd(oid, _prd(checkout.objects.read(oid) or b"", path))


def _prd(data: bytes, path: str) -> Prd | None:
    try:
        return Prd.of(check_prd(data, f"{path}/prd.json"))
    except InvalidInput:
        return None


def features_of(checkout: Checkout, config: Config) -> list[FeatureLocation]:
    """Every feature of the repository by name: in the checkout, on a branch of its own, or on the base branch."""
    repository = checkout.repository
    base, root = base_of(checkout, config), repository.root
    rows = _branches(repository, config.git.branch_prefix)
    paths = {feature.path: feature for feature in listed(root, config.project.features_dir)}
    owners = dict(_owners(checkout, config, rows))
    for path in (*_paths_at(checkout, config, base.tips), *owners):
        paths.setdefault(path, Feature(path.rsplit("/", 1)[1], root / path, path))
    return [_location_of(checkout, config, feature, owners.get(path, "")) for path, feature in sorted(paths.items())]


def only_open(features: Sequence[FeatureLocation], features_dir: str) -> FeatureLocation:
    """The feature that is meant where none is named: the only open one, or the only one.

    Raises NotFound if there is none, InvalidInput if several could be meant.
    """
    if not features:
        raise NotFound(f"there is no feature in {features_dir}/",
                       hint=f'write {features_dir}/<name>/PRD.md, or: ralphy start "what you want built"')  # fmt: skip
    is_open = [location for location in features if location.life.is_open]
    meant = next((few for few in (features, is_open) if len(few) == 1), None)
    if meant:
        return meant[0]
    names = ", ".join(location.feature.name for location in (is_open or features)[:10])
    if is_open:
        raise InvalidInput(f"{len(is_open)} features are open: {names}", hint="name one of them")
    raise InvalidInput(f"no feature is open; there are: {names}", hint="name one of them")


def _location_of(checkout: Checkout, config: Config, feature: Feature, owner: str) -> FeatureLocation:
    here = _here(feature)
    prefixed = f"{config.git.branch_prefix}{feature.name}"
    branch = str((here.raw.get("branchName") if here else "") or owner or prefixed)
    base = base_of(checkout, config, str((here.workflow.get("base") if here else "") or ""))
    places = places_of(checkout, config, feature.path, branch, here, base)
    tip = git.resolve(checkout.repository, f"refs/heads/{branch}")
    places = _with_rejection(checkout, places, feature, tip)
    at = _state_at(checkout, places, feature.path, tip, base)
    return FeatureLocation(feature, life_of(places), branch, base.name, at, places.has_open_branch)


def _state_at(checkout: Checkout, places: Places, path: str, tip: str, base: Base) -> str:
    """The commit that holds the feature's newest state; "" if the checkout does."""
    if places.is_checked_out or newest(places) is places.here:
        return ""
    if newest(places) is places.branch:
        return tip
    return next((oid for oid in base.tips if prd_at(checkout, oid, path) == places.base), "")


def _with_rejection(checkout: Checkout, places: Places, feature: Feature, tip: str) -> Places:
    """The places, with a rejection that stands: for exactly the bytes of the document that are there."""
    prd = newest(places)

    def digest_of(gate: str) -> str:
        name = document_at(gate)
        if not name:
            return ""
        if places.has_open_branch and not places.is_checked_out:
            data = checkout.objects.read(f"{tip}:{feature.in_repository(name)}")
        else:
            data = read_regular(feature.file(name))
        return artifact_digest(data) if data else ""

    return replace(places, is_rejected=prd is not None and is_rejected(prd, digest_of))


def _here(feature: Feature) -> Prd | None:
    """prd.json in the checkout. One that is not valid counts as not there: what opens the feature names the error."""
    try:
        data = read_input(feature.file("prd.json"), MAX_BYTES)
    except InvalidInput:
        return None
    return _prd(data, feature.path) if data else None


def _branches(repository: git.Repository, prefix: str) -> dict[str, str]:
    """Name -> commit of every branch that could be a feature's."""
    try:
        out = repository.text("for-each-ref", "--format=%(objectname) %(refname:lstrip=2)", f"refs/heads/{prefix}*")
    except git.GitError:
        return {}
    return {name: oid for oid, _, name in (row.partition(" ") for row in out.splitlines())}


def _owners(checkout: Checkout, config: Config, branches: dict[str, str]) -> Iterator[tuple[str, str]]:
    """(path of a feature, its branch), as the tips of the branches say."""
    for branch, oid in branches.items():
        named = f"{config.project.features_dir}/{branch.removeprefix(config.git.branch_prefix)}"
        paths = list(_paths_at(checkout, config, (oid,)))
        if named in paths:
            yield named, branch
            continue
        for path in paths:
            prd = prd_at(checkout, oid, path)
            if prd and prd.raw.get("branchName") == branch:
                yield path, branch


def _paths_at(checkout: Checkout, config: Config, commits: Iterable[str]) -> Iterator[str]:
    """The folders of features that commits hold."""
    for commit in commits:
        folder = checkout.objects.at(checkout.objects.tree_of(commit), config.project.features_dir)
        if folder is None or folder.mode != TREE:
            continue
        for name, entry in checkout.objects.entries(folder.oid).items():
            if NAME.fullmatch(name) and entry.mode == TREE and "prd.json" in checkout.objects.entries(entry.oid):
                yield f"{config.project.features_dir}/{name}"
