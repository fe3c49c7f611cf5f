package description

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cluster describes a cluster. The zero value describes the cluster of fakecluster.New without options. Each
// field is an option. Its tags are its names and its documentation: json is its name in the host, scenario in
// a scenario file, flag on the command line of serve, and option in package fakecluster. A flag whose value
// is a list may be repeated; with ",commas" after its name, the values are separated by commas. The tag path
// marks a value that is a path or a list of paths.
type Cluster struct {
	CRDPaths     []string `json:"crdPaths,omitempty" flag:"crds" option:"WithCRDPaths" path:"" doc:"files and folders whose CustomResourceDefinitions are installed; other kinds in them are ignored"`
	Manifests    []string `json:"manifests,omitempty" flag:"manifests" option:"WithManifests" path:"" doc:"files and folders whose objects are all created, in the order that installing needs"`
	Kustomize    []string `json:"kustomize,omitempty" flag:"kustomize" path:"" doc:"folders with a kustomization, which are built and created as by kubectl apply -k"`
	WebhookPaths []string `json:"webhookPaths,omitempty" option:"WithWebhookPaths" path:"" doc:"files and folders whose webhook configurations are installed; the answer has the address on which the webhook server must listen"`

	Controllers               []string `json:"controllers,omitzero" scenario:"controllers" option:"WithControllers" doc:"the controllers of kube-controller-manager that act within a write, by name; * is all of them, and an empty list none; others run with workloads; default: namespace-controller, storage-version-migrator-controller, validatingadmissionpolicy-status-controller, resourcequota-controller"`
	APIServerFlags            []string `json:"flags,omitempty" option:"WithAPIServerFlags" doc:"flags of kube-apiserver, with absolute paths"`
	Authorization             string   `json:"authorization,omitempty" option:"WithAuthorization" doc:"RBAC or AlwaysAllow; default: RBAC"`
	WithAdmissionPlugins      []string `json:"enableAdmissionPlugins,omitempty" scenario:"withAdmissionPlugins" flag:"enable-admission-plugins,commas" option:"WithAdmissionPlugins" doc:"admission plugins to turn on, by name"`
	WithoutAdmissionPlugins   []string `json:"disableAdmissionPlugins,omitempty" scenario:"withoutAdmissionPlugins" flag:"disable-admission-plugins,commas" option:"WithoutAdmissionPlugins" doc:"admission plugins to turn off, by name"`
	WithoutNamespaceLifecycle bool     `json:"withoutNamespaceLifecycle,omitempty" scenario:"withoutNamespaceLifecycle" flag:"without-namespace-lifecycle" option:"WithoutNamespaceLifecycle" doc:"allows objects in namespaces that do not exist"`
	RuntimeConfig             []string `json:"runtimeConfig,omitempty" scenario:"runtimeConfig" flag:"runtime-config" option:"WithRuntimeConfig" doc:"versions of built-in kinds to turn on or off, such as resource.k8s.io/v1beta2=true"`
	LegacyAPIs                bool     `json:"legacyAPIs,omitempty" scenario:"legacyAPIs" flag:"legacy-apis" option:"WithLegacyAPIs" doc:"also serves definitions and policies in v1beta1"`

	Seed                  *uint64          `json:"seed,omitempty" option:"WithSeed" doc:"makes uids and generated names repeatable; default: they are random"`
	Audit                 string           `json:"audit,omitempty" option:"WithAudit" doc:"the level of the audit trail: Metadata, Request or RequestResponse; default: none"`
	TLS                   bool             `json:"tls,omitempty" flag:"tls" option:"WithTLS" doc:"serves HTTPS with HTTP/2 at the url; default: HTTP"`
	Port                  *int             `json:"port,omitempty" option:"WithPort" doc:"the port of the url; default: a free one"`
	CompactionInterval    *metav1.Duration `json:"compactionInterval,omitempty" option:"WithCompactionInterval" doc:"compacts the history as a real server does, such as 5m; default: never"`
	WatchHistoryRevisions int              `json:"watchHistoryRevisions,omitempty" option:"WithWatchHistory" doc:"how many revisions the history keeps; default: 100000"`
	WatchHistoryBytes     int64            `json:"watchHistoryBytes,omitempty" option:"WithWatchHistory" doc:"how many bytes of objects the history keeps; default: 256 MiB"`

	Snapshot     string `json:"snapshot,omitempty" option:"WithSnapshot" path:"" doc:"a file with a snapshot to begin with"`
	SnapshotData string `json:"snapshotData,omitempty" option:"WithSnapshot" doc:"a snapshot to begin with, in base64"`
	DataFile     string `json:"dataFile,omitempty" option:"WithDataFile" path:"" doc:"a file in which the cluster is stored"`
	Fsync        string `json:"fsync,omitempty" doc:"when dataFile is synced to the disk: always, with each write, or once a second; default: always"`
}

// IsZero reports whether no option is given. An empty list that is not nil counts as given.
func (c Cluster) IsZero() bool { return reflect.ValueOf(c).IsZero() }
