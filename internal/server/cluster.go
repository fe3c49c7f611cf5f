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

	"github.com/fakecluster/fakecluster/internal/admission"
	"github.com/fakecluster/fakecluster/internal/admission/plugins"
	"github.com/fakecluster/fakecluster/internal/aggregation"
	"github.com/fakecluster/fakecluster/internal/audittrail"
	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/auth/authorization"
	"github.com/fakecluster/fakecluster/internal/builtin"
	"github.com/fakecluster/fakecluster/internal/controller"
	"github.com/fakecluster/fakecluster/internal/crd"
	"github.com/fakecluster/fakecluster/internal/faultinjection"
	"github.com/fakecluster/fakecluster/internal/flowcontrol"
	"github.com/fakecluster/fakecluster/internal/history"
	"github.com/fakecluster/fakecluster/internal/quota"
	"github.com/fakecluster/fakecluster/internal/redact"
	"github.com/fakecluster/fakecluster/internal/release"
	"github.com/fakecluster/fakecluster/internal/resource"
	"github.com/fakecluster/fakecluster/internal/write"
	"github.com/fakecluster/fakecluster/store"
)

// Cluster is an API server without HTTP. It is safe for concurrent use.
type Cluster struct {
	// Store has the objects.
	Store *store.Store
	// Writes is the pipeline of writes; Run carries out a write by it.
	Writes *write.Pipeline
	// Kinds gives the code of built-in kinds access to the cluster.
	Kinds builtin.Cluster
	// Aggregate forwards requests to the APIServices that point to a service.
	Aggregate *aggregation.Proxy
	// Users authenticates requests, and Access authorizes them. Tokens issues the tokens of service accounts.
	Users  *authentication.Authenticator
	Access Access
	Tokens *authentication.Issuer
	// Flows matches requests with FlowSchemas.
	Flows *flowcontrol.Schemas

	// History has the requests and the writers of revisions. Audit has the audit events; nil: requests are not audited.
	History *history.Recorder
	Audit   *audittrail.Trail
	// Faults injects faults.
	Faults *faultinjection.Engine
	// Reads are the functions that are called before reads.
	Reads *Reads
	// Messages are for the user of the cluster.
	Messages *Messages
	// Closing ends when the cluster closes, and with it every watch and all calls of webhooks.
	Closing context.Context

	close       context.CancelFunc
	compact     *compaction
	options     Options
	builtin     builtinKinds
	registry    *registry
	chain       *admissionChain
	hooks       *hooks
	trust       *trust
	controllers *controller.Controllers
	own         *loopback
}

// builtinKinds are the kinds that every cluster has.
type builtinKinds struct {
	options     builtin.Options
	ordered     []*resource.Resource // in the order of discovery
	namespaces  *resource.Resource   // in ordered
	definitions *resource.Resource   // in ordered

	inTree plugins.Options // of the compiled-in admission plugins

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
	k.options = builtin.Options{LegacyAPIs: o.LegacyAPIs, RuntimeConfig: runtimeConfig, Network: o.Network}
	k.ordered = builtin.Resources(k.options, k.definitions)
	k.namespaces = k.ordered[slices.IndexFunc(k.ordered, func(r *resource.Resource) bool { return r.NamespaceOfItself })]
	return k, nil
}

// resource returns the built-in resource with a group and name, or nil.
func (k builtinKinds) resource(gr schema.GroupResource) *resource.Resource {
	return k.ordered[slices.IndexFunc(k.ordered, func(r *resource.Resource) bool { return r.GroupResource() == gr })]
}

// New returns a cluster over a store. It creates the initial objects that the store lacks, and completes what another
// cluster had begun over the same objects, such as the deletion of a namespace. It fails if options contradict each
// other, or if a file that they name cannot be read. Close ends the cluster, but does not close the store.
func New(s *store.Store, o Options) (*Cluster, error) {
	if o.Token == "" {
		return nil, fmt.Errorf("Options.Token is empty: a server needs the token of its administrator")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	kinds, err := newBuiltinKinds(o)
	if err != nil {
		return nil, err
	}
	c, err := assemble(s, o, kinds, inheritance{
		requests: history.New(o.Now, s.Oldest), random: write.NewRandom(o.Seed, s.Revision()), tokens: authentication.NewIssuer(o.Accounts),
		served: resource.NewRegistry(0, kinds.ordered, nil), admission: &admission.Chain{},
	})
	if err != nil {
		return nil, err
	}
	return c.started(c.begin())
}

// Fork returns a cluster over a fork of the store, with its own services. Both clusters share records and compiled
// definitions. These are immutable, and what they cache follows from their content (see packages resource and crd), so
// neither cluster can observe the other.
//
// What this cluster has not completed, such as establishing a definition, the fork completes for itself.
func (c *Cluster) Fork(forked *store.Store, services Services) (*Cluster, error) {
	options, kinds := c.options, c.builtin
	options.Services = services
	kinds.acting = c.controllers.Acting()
	f, err := assemble(forked, options, kinds, inheritance{
		requests: c.History.Fork(forked.Revision(), forked.Oldest), random: c.Writes.Random.Fork(), tokens: c.Tokens,
		rules: c.own.rules, served: c.registry.forFork(forked.Revision()), admission: c.chain.forFork(),
	})
	if err != nil {
		return nil, err
	}
	return f.started(f.continueFrom(c))
}

// started returns the cluster, or closes it if err is not nil.
func (c *Cluster) started(err error) (*Cluster, error) {
	if err != nil {
		c.Close()
		return nil, err
	}
	c.compact.start()
	return c, nil
}

// verifyMemory is an environment variable for the tests of fakecluster. If it is 1, servers check that nothing alters
// their shared decoded objects. Requests then take several times as long.
const verifyMemory = "FAKECLUSTER_VERIFY_MEMORY"

// inheritance is what a fork begins with. A new cluster has none, and begins with empty parts.
type inheritance struct {
	requests  *history.Recorder
	random    *write.Random
	tokens    *authentication.Issuer
	rules     *authorization.Rules // nil: none
	served    *resource.Registry
	admission *admission.Chain // without the compiled-in plugins
}

// assemble creates the parts of a cluster, each from earlier ones: first what reads, then admission, the write pipeline,
// the controllers, and the loopback, which writes.
func assemble(s *store.Store, o Options, kinds builtinKinds, from inheritance) (c *Cluster, err error) {
	closing, end := context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			end()
		}
	}()
	stored := objects{s, resource.NewMemory(os.Getenv(verifyMemory) == "1")}
	services := o.Services
	if services != nil {
		services = clusterServices{services, stored, kinds.resource(corev1.Resource("services"))}
	}
	faults, messages := &faultinjection.Engine{Store: s, Seed: o.Seed}, newMessages()
	outside := crd.Outside{Services: services, Closing: closing, Fails: faults.FailConversion}
	hooks, err := newHooks(outside, services, faults, kinds.inTree.Configuration())
	if err != nil {
		return nil, err
	}
	registry := newRegistry(s, kinds, outside, stored.memory, from.served)
	rules := authorization.NewRules(s, builtin.KeyPrefix, from.rules)
	authorizer, err := newAuthorizer(o, rules)
	if err != nil {
		return nil, err
	}
	access := Access{authorizer, &authorization.Access{}}
	reader := state{stored, registry, kinds.namespaces, hooks, authorizer, func() metav1.Time { return metav1.NewTime(o.Now()) }}

	chain := newAdmissionChain(s, kinds.ordered, from.admission)
	activity := write.NewActivity(s)
	pipeline := &write.Pipeline{
		Store: s, Memory: stored.memory, Now: reader.now, Random: from.random,
		Namespaces: kinds.namespaces, WithoutNamespaceLifecycle: !kinds.inTree.NamespaceLifecycle(),
		Registry: registry.fresh, Chain: chain.Load, Cluster: reader, MayCreate: access.mayCreate,
		Activity: activity,
	}
	flows := flowcontrol.New(s, builtin.KeyPrefix("flowschemas"), builtin.KeyPrefix("prioritylevelconfigurations"))
	aggregate := aggregation.New(s, reader, serviceNetwork{services})
	quotas := quota.New(quota.Options{
		Cluster: reader, Store: s, Memory: stored.memory, Resource: kinds.resource(corev1.Resource("resourcequotas")), Limited: kinds.inTree.Configuration().Limited(),
	})
	trust := &trust{services: services, configured: o.AuthenticationInfo}
	controllers := controller.New(&controller.Server{
		Cluster: reader, Records: s, Activity: activity, Memory: stored.memory, Registry: registry.fresh,
		Report: func(name, key string, err error) {
			messages.Each(fmt.Sprintf("fakecluster: %s %s: %v; the next related write tries again", name, key, redact.Request{}.Error(err)))
		},
		AuthenticationInfo: trust.data, Initial: kinds.options, Quotas: quotas,
		Available: aggregate.CheckAvailable, APIServicesOf: aggregate.APIServicesOf, LivesInPods: aggregate.LivesInPods, InPods: aggregate.InPods,
	}, kinds.acting)

	trail := audittrail.New(o.AuditLevel, o.AuditLog, o.Now)
	own := &loopback{
		state: reader, pipeline: pipeline, log: ownWrites{trail, from.requests, o.Now}, nodePorts: &builtin.NodePorts{}, tokens: from.tokens, rules: rules,
		network: kinds.options.Network, services: services,
		chain: chain, flows: flows, aggregate: aggregate, controllers: controllers, quotas: quotas, chargesQuotas: kinds.inTree.ResourceQuota(),
	}
	users, err := authentication.NewAuthenticator(closing, o.Token, from.tokens, o.Users, s, builtin.KeyPrefix, o.Now, own.patchSecret)
	if err != nil {
		return nil, err
	}
	proxy := aggregation.NewProxy(aggregate, func(ctx context.Context, name string) {
		controllers.Sync(ctx, own, controller.APIServiceAvailability, "", name)
	})
	return &Cluster{
		Store: s, Writes: pipeline, Kinds: forKinds{own, users}, Aggregate: proxy, Users: users, Access: access, Tokens: from.tokens, Flows: flows,
		History: from.requests, Audit: trail, Faults: faults, Reads: &Reads{}, Messages: messages, Closing: closing,
		close: end, compact: &compaction{interval: o.CompactionInterval, store: s, fail: messages.Each},
		options: o, builtin: kinds, registry: registry, chain: chain, hooks: hooks, trust: trust, controllers: controllers, own: own,
	}, nil
}

// newAuthorizer returns the authorizer that the options select.
func newAuthorizer(o Options, rules *authorization.Rules) (authorization.Authorizer, error) {
	switch {
	case o.Authorizer != nil:
		return authorization.By(rules, o.Authorizer), nil
	case o.Modes != nil:
		return o.Modes.By(rules)
	}
	return authorization.ByRules(rules), nil
}

// Act starts further controllers of kube-controller-manager. When it returns, they have handled the existing objects. It
// fails for a name that is not in controller.All.
func (c *Cluster) Act(names []string) error {
	further, err := controller.Select(names)
	if err != nil {
		return err
	}
	acting := c.controllers.Acting()
	maps.Copy(acting, further)
	// Create the objects that admission needs first.
	if err := c.controllers.Act(context.Background(), c.own, further); err != nil {
		return err
	}
	return c.installPlugins(acting)
}

// installPlugins puts the compiled-in plugins into the chain: those of a cluster in which these controllers act.
func (c *Cluster) installPlugins(acting controller.Acting) error {
	inTree, err := forPlugins{c.own}.compile(c.builtin.inTree, acting)
	if err == nil {
		c.chain.install(inTree)
	}
	return err
}

// Replace pauses a controller of kube-controller-manager until Act starts it again, because a client acts in its place.
// It fails for a name that is not in controller.All.
func (c *Cluster) Replace(name string) error {
	if _, err := controller.Select([]string{name}); err != nil {
		return err
	}
	c.controllers.Replace(controller.Name(name))
	return nil
}

// Acts reports whether a controller of kube-controller-manager acts, or is replaced.
func (c *Cluster) Acts(name string) bool { return c.controllers.Acting()[controller.Name(name)] }

// CollectsGarbage reports whether the garbage collector acts.
func (c *Cluster) CollectsGarbage() bool { return c.controllers.Acts(controller.GarbageCollector) }

// Run carries out a write of a client (write.Pipeline.Run).
func (c *Cluster) Run(ctx context.Context, w *write.Request) (write.Result, error) {
	return c.Writes.Run(ctx, c.own, w)
}

// Registry returns the kinds that are served now.
func (c *Cluster) Registry() *resource.Registry { return c.registry.Load() }

// begin creates the initial objects that the store lacks, and completes what another cluster had begun over the same
// objects, such as the deletion of a namespace.
func (c *Cluster) begin() error {
	if err := c.installPlugins(c.builtin.acting); err != nil {
		return err
	}
	revision := c.Store.Revision() // greater than FirstRevision if the store had content
	if err := c.fill(); err != nil {
		return fmt.Errorf("filling the store: %w", err)
	}
	if err := c.registry.refresh(); err != nil {
		return err
	}
	if err := c.chain.refresh(); err != nil {
		return err
	}
	c.trust.changed() // the controllers publish this data
	if err := c.control(revision); err != nil {
		return err
	}
	if c.options.Functions != nil {
		c.chain.call(c.options.Functions)
	}
	return nil
}

// control starts the controllers of a new cluster, or resumes them if the store already had content. revision is that of
// the store at the start; a new store is at store.FirstRevision.
func (c *Cluster) control(revision int64) error {
	if revision == store.FirstRevision {
		return c.controllers.Begin(context.Background(), c.own)
	}
	if err := c.Aggregate.Refresh(); err != nil {
		return err
	}
	// The previous server may have stopped before its controllers had finished.
	return c.controllers.Resume(context.Background(), c.own, c.Store.Revision(), 0)
}

// continueFrom continues in a fork where its origin was when the store was forked.
func (c *Cluster) continueFrom(origin *Cluster) error {
	if err := c.installPlugins(c.builtin.acting); err != nil {
		return err
	}
	revision := c.Store.Revision()
	if err := c.registry.refresh(); err != nil {
		return err
	}
	if err := c.chain.refresh(); err != nil {
		return err
	}
	if err := c.Aggregate.Refresh(); err != nil {
		return err
	}
	c.trust.changed()
	c.controllers.Inherit(origin.controllers, revision)
	return c.controllers.Resume(context.Background(), c.own, revision, origin.Writes.Activity.Complete(revision))
}

// Now returns the time of the cluster's clock.
func (c *Cluster) Now() time.Time { return c.options.Now() }

// Expired returns the revision before which lists have expired, and watches of resources without a watch cache.
func (c *Cluster) Expired() int64 { return c.compact.expired.Load() }

// Close ends all watches and timers. Later requests are rejected. It does not wait for requests in flight, which end
// with their connection or transport. It waits for controllers whose timer has fired.
func (c *Cluster) Close() {
	c.close()
	c.compact.stop()
	c.hooks.close()
	c.Aggregate.Close()
	c.controllers.Close()
}
