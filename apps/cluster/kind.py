"""What a kind is: how the API addresses it, and what the steps of a write do to its objects.

The kinds are declared in `apps/cluster/kinds`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from django.db.models import QuerySet

from apps.cluster import models
from apps.cluster.errors import Cause, qualified
from apps.cluster.lookups import Lookups
from apps.cluster.models import Cluster
from apps.cluster.tables.columns import CREATED, NAME, Column
from apps.quantity import Parsed

Body = Mapping[str, Any]
#: A body on its way into the store, changed in place.
Draft = dict[str, Any]
#: The invalid fields of an object, and of an object that replaces an old one.
Rule = Callable[[Body], Iterator[Cause]]
UpdateRule = Callable[[Body, Body], Iterator[Cause]]

VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "update", "watch")
#: Those of custom resources, in the order of their discovery.
CUSTOM_VERBS: Final = (
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
)
STATUS_VERBS: Final = ("get", "patch", "update")
#: The metadata that clients set.
CLIENT_METADATA: Final = ("labels", "annotations", "finalizers", "ownerReferences")
PROXY_VERBS: Final = ("create", "delete", "get", "patch", "update")


@dataclass(frozen=True, slots=True)
class Subresource:
    """A path below an object; group, version and kind of the object that it reads and writes."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


#: resource of a quota -> amount, in the notation of the object
Usage = dict[str, Parsed]


@dataclass(frozen=True, slots=True)
class Quota:
    """What ResourceQuotas limit of the objects of a kind, besides their number."""

    #: The usage of one object.
    measure: Callable[[Body], Usage]
    #: Whether its objects can use a resource of a quota.
    covers: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class Conversion:
    """How the objects of a custom kind are stored, and come from one version to another."""

    #: The version in which they are stored.
    storage: str
    #: Those in which objects may be stored, of earlier storage versions.
    stored: tuple[str, ...]
    #: The OpenAPI definition of each version.
    schemas: tuple[tuple[str, str], ...]
    #: The webhook that converts, as JSON; "": only `apiVersion` changes.
    webhook: str = ""

    def schema_name(self, version: str) -> str:
        """The OpenAPI definition of a version; "" for one that the definition no longer has."""
        return dict(self.schemas).get(version, "")


SCALE: Final = Subresource("scale", "Scale", STATUS_VERBS, "autoscaling", "v1")


#: The columns of a kind that has none of its own.
DEFAULT_COLUMNS: Final = (NAME, CREATED)


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object. All declarations have defaults: a kind may be an address and no more."""

    name: str
    plural: str
    #: Its table; kinds that are only data share one.
    model: type[models.KubernetesObject] = models.DataObject
    group: str = ""
    version: str = "v1"
    #: Served versions of the group besides this one.
    other_versions: tuple[str, ...] = ()
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    #: Categories, such as "all" for `kubectl get all`.
    categories: tuple[str, ...] = ()
    #: fieldSelector paths beyond metadata.name and metadata.namespace.
    fields: tuple[str, ...] = ()
    #: Whether `/status` is a subresource, so that ordinary updates leave `status` alone.
    has_status: bool = False
    #: Whether `metadata.generation` counts the changes of `spec`.
    has_generation: bool = False
    #: Whether it does so without one that the server sets when it creates the object.
    counts_changes: bool = False
    #: Those besides `status`.
    subresources: tuple[Subresource, ...] = field(default=(), compare=False)
    #: Deletion returns the object instead of a Status.
    returns_deleted: bool = False
    #: A PUT of a missing object creates it.
    creates_on_update: bool = False
    #: Fields of the metadata that an update of the status leaves as they are.
    status_keeps: tuple[str, ...] = ()
    #: Of its fields, only the metadata has owners: the server sets the rest of new objects.
    is_unowned: bool = False
    #: A PUT has to name the version that it replaces.
    needs_version: bool = False
    #: A deletion that does not say otherwise leaves the dependants.
    orphans: bool = False
    #: What the system itself records, most of all changes: nothing depends on its objects, no quota
    #: counts them, and no controller reads them.
    is_record: bool = False
    #: Whether admission or access looks up its objects; a change of one raises the
    #: `admission_version`.
    is_looked_up: bool = False
    #: Sets the defaults of a draft, which has no effect on one that has them.
    default: Callable[[Draft], None] | None = field(default=None, compare=False)
    #: The status of a new object, in place of what the client sends.
    initial_status: Callable[[Draft], Draft] | None = field(default=None, compare=False)
    #: Sets what no client owns, beside the defaults.
    prepare: Callable[[Draft], None] | None = field(default=None, compare=False)
    #: Admits a new object that has its defaults, after the admission plugins.
    admit_new: Callable[[Draft, Lookups], None] | None = field(default=None, compare=False)
    #: Writes what an update keeps of the old object, before its defaults.
    keep: Callable[[Draft, Body], None] | None = field(default=None, compare=False)
    #: Admits an update that has its defaults, before the admission plugins.
    admit_update: Callable[[Draft, Lookups, Body], None] | None = field(default=None, compare=False)
    #: Feature gates, and what drops the fields that each permits.
    gated_fields: tuple[tuple[str, Callable[[Draft], None]], ...] = field(default=(), compare=False)
    #: What is wrong with a name; None: it is a DNS subdomain.
    check_name: Callable[[str], tuple[str, ...]] | None = field(default=None, compare=False)
    #: The rules of an object.
    validate: Rule | None = field(default=None, compare=False)
    #: Rules for new objects only: what exists may keep such faults.
    validate_new: Rule | None = field(default=None, compare=False)
    #: An update is compared with the old object, but not validated as a new one.
    compares_updates: bool = False
    validate_update: UpdateRule | None = field(default=None, compare=False)
    #: The rules of updates through `status`, and through other subresources that have their own.
    validate_status: UpdateRule | None = field(default=None, compare=False)
    validate_parts: Mapping[str, UpdateRule] = field(default_factory=dict, compare=False)
    quota: Quota | None = field(default=None, compare=False)
    #: Whether quotas also count its objects by the plural alone, from before count/… existed.
    counted_by_plural: bool = False
    #: The warnings about a new object, and about an object and what it was before an update.
    warn: Callable[[Body], Iterator[str]] | None = field(default=None, compare=False)
    warn_update: Callable[[Body, Body], Iterator[str]] | None = field(default=None, compare=False)
    #: Whether its controller creates pods from `spec.template`.
    manages_pods: bool = False
    #: The field of `spec` with the number of pods; "" for none.
    replicas: str = ""
    #: Its columns in `kubectl get` and on pages.
    columns: tuple[Column, ...] = field(default=DEFAULT_COLUMNS, hash=False)
    #: The warning with which all requests about it are answered; "" for none.
    deprecation: str = ""
    #: The feature gate without which a cluster does not serve it; "" for none.
    feature_gate: str = ""
    #: The name of its CustomResourceDefinition; "" for a kind that is declared here.
    definition_name: str = ""
    #: Of such a kind: its OpenAPI definition, and how its objects are stored.
    schema_name: str = ""
    conversion: Conversion | None = None

    @property
    def key(self) -> str:
        """The name under which tables and the change log have it; unique in a cluster."""
        return self.definition_name or self.name

    @property
    def is_data(self) -> bool:
        """Whether its objects are in the table that kinds share."""
        return self.model is models.DataObject

    @property
    def table(self) -> str:
        """What follows FROM in SQL, before an alias: the rows of this kind."""
        table = self.model._meta.db_table
        return f"(SELECT * FROM {table} WHERE kind = '{self.key}')" if self.is_data else table

    @property
    def constants(self) -> dict[str, str]:
        """The columns that have the same value in every row of this kind."""
        return {"kind": self.key} if self.is_data else {}

    def objects(self, cluster: Cluster) -> QuerySet[Any]:
        """The rows of this kind in a cluster."""
        return self.model._default_manager.filter(cluster=cluster, **self.constants)

    @property
    def is_stored_otherwise(self) -> bool:
        """Whether objects may be stored in another version than this one."""
        conversion = self.conversion
        return conversion is not None and set(conversion.stored) != {self.version}

    @property
    def api_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def qualified_plural(self) -> str:
        """`replicasets.apps`, as messages name it."""
        return qualified(self.plural, self.group)
