package server

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/admission/plugins"
	"github.com/fakecluster/fakecluster/internal/aggregation"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/flowcontrol"
	"github.com/fakecluster/fakecluster/internal/quota"
	"github.com/fakecluster/fakecluster/internal/redact"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// Options say what a cluster is like. A fork has those of its origin. Package rest has options of
// the same names and says what they mean.
type Options struct {
	Token              string
	Users              authentication.Users
	AuthenticationInfo func() map[string]string // nil: nothing is published
	Accounts           authentication.Accounts
	Modes              *authorization.Modes  // nil: roles and their bindings decide
	Authorizer         authorizer.Authorizer // nil: the modes decide
	Now                func() time.Time
	Seed               *uint64
	Functions          admission.Plugin // called for each write; nil: none
	LegacyAPIs         bool
	RuntimeConfig      []string
	Network            builtin.Network
	Controllers        []string

	EnableAdmissionPlugins, DisableAdmissionPlugins []string
	AdmissionConfigFile                             string
}

// Host is what a cluster has of the server in front of it.
type Host struct {
	// Services resolves the services that webhooks and APIServices refer to; nil: there are none.
	Services Services
	// Closing ends with the server, and all calls of webhooks end with it.
	Closing context.Context
	// Faults are those that strike calls of webhooks.
	Faults *faultinjection.Engine
	// Log takes down the writes of the cluster's own controllers.
	Log Log
	// MayCreate refuses an update or an apply that creates an object (see write.Pipeline).
	MayCreate func(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) error
	// Failed is called with a message when a controller has failed, which no client sees.
	Failed func(message string)
}

// Log takes down the writes of the cluster's own controllers, as it does the requests of clients.
type Log interface {
	// Write takes down a write, which run carries out in the context that it gets.
	Write(ctx context.Context, by controller.Identity, verb string, w write.Request, run func(context.Context) (write.Result, error)) (write.Result, error)
	// Stage takes down a write that commits together with another one. It returns the context for
	// its stages, and a function to call with its result once it has committed.
	Stage(ctx context.Context, by controller.Identity, verb string, w write.Request) (staging context.Context, committed func(result func() (write.Result, error)))
}

// Cluster is an API server without HTTP. It is safe for concurrent use.
type Cluster struct {
	// Store has the objects.
	Store *store.Store
	// Writes changes them.
	Writes *write.Pipeline
	// Kinds is what the code of built-in kinds works on.
	Kinds builtin.Cluster
	// Aggregate has the APIServices that point to a service.
	Aggregate *aggregation.Registry
	// Users authenticates requests, and Authorizer authorizes them. Tokens issues the tokens of service accounts.
	Users      *authentication.Authenticator
	Authorizer authorization.Authorizer
	Tokens     *authentication.Issuer
	// Flows are the FlowSchemas, with which requests are matched.
	Flows *flowcontrol.Schemas

	options     Options
	builtin     builtinKinds
	registry    *registry
	chain       *admissionChain
	hooks       *hooks
	rules       *authorization.Rules
	trust       *trust
	plugins     forPlugins
	controllers *controller.Controllers
}

// builtinKinds are the kinds that every cluster has.
type builtinKinds struct {
	options     builtin.Options
	ordered     []*resource.Resource // in the order of discovery
	namespaces  *resource.Resource   // among all
	definitions *resource.Resource   // among all

	inTree plugins.Options // of the admission plugins that are compiled in

	acting controller.Acting // that keep some of them
}

func newBuiltinKinds(o Options) (builtinKinds, error) {
	if err := release.Check(); err != nil {
		return builtinKinds{}, err
	}
	runtimeConfig, err := builtin.ParseRuntimeConfig(o.RuntimeConfig...)
	if err != nil {
		return builtinKinds{}, fmt.Errorf("runtime config: %w", err)
	}
	config, err := plugins.ReadConfiguration(o.AdmissionConfigFile)
	if err != nil {
		return builtinKinds{}, err
	}
	admissionOptions, err := plugins.NewOptions(o.EnableAdmissionPlugins, o.DisableAdmissionPlugins, config)
	if err != nil {
		return builtinKinds{}, err
	}
	acting, err := controller.Select(o.Controllers)
	if err != nil {
		return builtinKinds{}, err
	}
	k := builtinKinds{inTree: admissionOptions, acting: acting, definitions: crd.Definitions(o.LegacyAPIs)}
	k.options = builtin.Options{LegacyAPIs: o.LegacyAPIs, RuntimeConfig: runtimeConfig, Network: builtin.Network(o.Network)}
	k.ordered = builtin.Resources(k.options, k.definitions)
	k.namespaces = k.ordered[slices.IndexFunc(k.ordered, func(r *resource.Resource) bool { return r.NamespaceOfItself })]
	return k, nil
}

// resource returns the built-in resource of a name.
func (k builtinKinds) resource(gr schema.GroupResource) *resource.Resource {
	return k.ordered[slices.IndexFunc(k.ordered, func(r *resource.Resource) bool { return r.GroupResource() == gr })]
}

// New makes a cluster over a store. Start begins it. It fails if the options contradict each other,
// or name what cannot be read.
func New(s *store.Store, o Options, host Host) (*Cluster, error) {
	kinds, err := newBuiltinKinds(o)
	if err != nil {
		return nil, err
	}
	return assemble(s, o, host, kinds, write.NewRandom(o.Seed, s.Revision()), authentication.NewIssuer(o.Accounts), nil)
}

// Fork makes a cluster over a fork of this one's store. Continue begins it.
func (c *Cluster) Fork(forked *store.Store, host Host) (*Cluster, error) {
	kinds := c.builtin
	kinds.acting = c.controllers.Acting()
	return assemble(forked, c.options, host, kinds, c.Writes.Random.Fork(), c.Tokens, c.rules)
}

// verifyMemory is an environment variable for the tests of fakecluster. If it is 1, servers check that nothing
// alters the decoded objects that they keep, and requests take several times as long.
const verifyMemory = "FAKECLUSTER_VERIFY_MEMORY"

// assemble puts the parts of a cluster together, each of those before it: what is read, what decides about writes, the writes
// themselves, and what follows them. The registry and the chain are empty until the cluster begins.
func assemble(s *store.Store, o Options, host Host, kinds builtinKinds, random *write.Random, tokens *authentication.Issuer, origin *authorization.Rules) (*Cluster, error) {
	stored := objects{s, resource.NewMemory(os.Getenv(verifyMemory) == "1")}
	services := host.Services
	if services != nil {
		services = clusterServices{services, stored, kinds.resource(corev1.Resource("services"))}
	}
	outside := crd.Outside{Services: services, Closing: host.Closing, Fails: host.Faults.FailConversion}
	hooks, err := newHooks(outside, services, host.Faults, kinds.inTree.Configuration())
	if err != nil {
		return nil, err
	}
	registry := &registry{store: s, builtin: kinds.ordered, definitions: kinds.definitions, outside: outside, memory: stored.memory}
	rules := authorization.NewRules(s, builtin.KeyPrefix, origin)
	authorizer, err := newAuthorizer(o, rules)
	if err != nil {
		return nil, err
	}
	reader := state{stored, registry, kinds.namespaces, hooks, authorizer, func() metav1.Time { return metav1.NewTime(o.Now()) }}

	chain := &admissionChain{store: s, builtin: kinds.ordered}
	pipeline := &write.Pipeline{
		Store: s, Memory: stored.memory, Now: reader.now, Random: random,
		Namespaces: kinds.namespaces, WithoutNamespaceLifecycle: !kinds.inTree.NamespaceLifecycle(),
		Registry: registry.fresh, Chain: chain.Load, Cluster: reader, MayCreate: host.MayCreate,
	}
	own := &loopback{reader, pipeline, host.Log, &builtin.NodePorts{}, tokens, rules, kinds.options.Network, services}
	users, err := authentication.NewAuthenticator(host.Closing, o.Token, tokens, o.Users, s, builtin.KeyPrefix, o.Now, own.patchSecret)
	if err != nil {
		return nil, err
	}
	inTree, err := forPlugins{own}.compile(kinds.inTree, kinds.acting)
	if err != nil {
		return nil, err
	}
	chain.install(inTree)

	flows := flowcontrol.New(s, builtin.KeyPrefix("flowschemas"), builtin.KeyPrefix("prioritylevelconfigurations"))
	aggregate := aggregation.New(s, reader, serviceNetwork{services})
	quotas := quota.New(quota.Options{
		Cluster: reader, Store: s, Memory: stored.memory, Resource: kinds.resource(corev1.Resource("resourcequotas")), Limited: kinds.inTree.Configuration().Limited(),
	})
	trust := &trust{services: services, configured: o.AuthenticationInfo}
	controllers := controller.New(&controller.Server{
		Cluster: reader, Records: s, Memory: stored.memory, Registry: registry.fresh, Run: own.runAs,
		Report: func(name, key string, err error) {
			host.Failed(fmt.Sprintf("fakecluster: %s %s: %v; the next related write tries again", name, key, redact.Request{}.Error(err)))
		},
		AuthenticationInfo: trust.data, Initial: kinds.options, Quotas: quotas,
		Available: aggregate.CheckAvailable, APIServicesOf: aggregate.Of, LivesInPods: aggregate.LivesInPods,
	}, kinds.acting)
	aggregate.Recheck(func(ctx context.Context, name string) {
		controllers.Sync(ctx, controller.APIServiceAvailability, "", name)
	})
	pipeline.Follow(afterCommit{chain, flows, aggregate, controllers}.committed)
	if kinds.inTree.ResourceQuota() {
		pipeline.Limit(quota.Charger{Quotas: quotas, Releases: func() bool { return controllers.Acts(controller.ResourceQuotas) }, Stage: own.stageQuota})
	}
	return &Cluster{
		Store: s, Writes: pipeline, Kinds: forKinds{own, users}, Aggregate: aggregate, Users: users, Authorizer: authorizer, Tokens: tokens, Flows: flows,
		options: o, builtin: kinds, registry: registry, chain: chain, hooks: hooks, rules: rules, trust: trust, plugins: forPlugins{own}, controllers: controllers,
	}, nil
}

// newAuthorizer makes what decides what users may do.
func newAuthorizer(o Options, rules *authorization.Rules) (authorization.Authorizer, error) {
	switch {
	case o.Authorizer != nil:
		return authorization.By(rules, o.Authorizer), nil
	case o.Modes != nil:
		return o.Modes.By(rules)
	}
	return authorization.ByRules(rules), nil
}

// Act has further controllers of kube-controller-manager act from now on. When it returns, they have done what there
// was to do. It fails for a name that is not among controller.All.
func (c *Cluster) Act(names []string) error {
	further, err := controller.Select(names)
	if err != nil {
		return err
	}
	acting := c.controllers.Acting()
	maps.Copy(acting, further)
	// First there are the objects that admission needs.
	if err := c.controllers.Act(context.Background(), further); err != nil {
		return err
	}
	inTree, err := c.plugins.compile(c.builtin.inTree, acting)
	if err != nil {
		return err
	}
	c.chain.install(inTree)
	return nil
}

// Replace makes a controller of kube-controller-manager pause until Act names it, because a client acts in its place. It
// fails for a name that is not among controller.All.
func (c *Cluster) Replace(name string) error {
	if _, err := controller.Select([]string{name}); err != nil {
		return err
	}
	c.controllers.Replace(controller.Name(name))
	return nil
}

// Acts reports whether a controller of kube-controller-manager acts, or is replaced.
func (c *Cluster) Acts(name string) bool { return c.controllers.Acting()[controller.Name(name)] }

// Registry returns what is served now.
func (c *Cluster) Registry() *resource.Registry { return c.registry.Load() }

// Start creates the initial objects in the store, unless they are there already, and completes what
// another cluster had begun over the same objects, such as the deletion of a namespace.
func (c *Cluster) Start() error {
	revision := c.Store.Revision() // of a store that has been filled before, it is not the first one
	if err := c.fill(); err != nil {
		return fmt.Errorf("filling the store: %w", err)
	}
	c.registry.inherit(nil)
	if err := c.registry.refresh(); err != nil {
		return err
	}
	if err := c.chain.refresh(); err != nil {
		return err
	}
	c.trust.changed() // the ConfigMap has it once the controllers have begun
	if err := c.begin(revision); err != nil {
		return err
	}
	if c.options.Functions != nil {
		c.chain.call(c.options.Functions)
	}
	return nil
}

// begin starts the controllers of a new cluster, or resumes them if the store already had content.
// The revision is that of the store at the start; a new store is at store.FirstRevision.
func (c *Cluster) begin(revision int64) error {
	if revision == store.FirstRevision {
		return c.controllers.Begin(context.Background())
	}
	if err := c.Aggregate.Refresh(); err != nil {
		return err
	}
	// The previous server may have stopped before its controllers had finished.
	return c.controllers.Resume(context.Background(), c.Store.Revision())
}

// Continue begins a fork where its origin was when its store was forked. The two share records and
// compiled definitions. What these say never changes, and what they remember follows from their content
// (see packages resource and crd), so neither cluster can find out that the other one exists.
//
// If the origin has not completed something, such as establishing a definition, the fork completes it
// for itself.
func (c *Cluster) Continue(origin *Cluster) error {
	revision := c.Store.Revision()
	c.registry.inheritFrom(origin.Registry(), revision)
	if err := c.registry.refresh(); err != nil {
		return err
	}
	if err := c.chain.inherit(origin.chain.Load()); err != nil {
		return err
	}
	if err := c.Aggregate.Refresh(); err != nil {
		return err
	}
	c.trust.changed()
	c.controllers.Inherit(origin.controllers, revision)
	return c.controllers.Resume(context.Background(), revision)
}

// Close ends what the cluster does on its own. It waits for controllers whose timer has gone off.
func (c *Cluster) Close() {
	c.hooks.close()
	c.Aggregate.Close()
	c.controllers.Close()
}
