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
	// Writes changes the objects.
	Writes *write.Pipeline
	// Kinds gives the code of built-in kinds access to the cluster.
	Kinds builtin.Cluster
	// Aggregate has the APIServices that point to a service.
	Aggregate *aggregation.Registry
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
	rules       *authorization.Rules
	trust       *trust
	plugins     forPlugins
	controllers *controller.Controllers
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
	c, err := assemble(s, o, kinds, history.New(o.Now, s.Oldest), write.NewRandom(o.Seed, s.Revision()), authentication.NewIssuer(o.Accounts), nil)
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
	f, err := assemble(forked, options, kinds, c.History.Fork(forked.Revision(), forked.Oldest), c.Writes.Random.Fork(), c.Tokens, c.rules)
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

// assemble creates the parts of a cluster, each from earlier ones: first what reads, then admission, the write pipeline,
// and the controllers. The registry and the chain are empty until the cluster begins.
func assemble(s *store.Store, o Options, kinds builtinKinds, requests *history.Recorder, random *write.Random, tokens *authentication.Issuer,
	origin *authorization.Rules) (c *Cluster, err error) {
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
	registry := &registry{store: s, builtin: kinds.ordered, definitions: kinds.definitions, outside: outside, memory: stored.memory}
	rules := authorization.NewRules(s, builtin.KeyPrefix, origin)
	authorizer, err := newAuthorizer(o, rules)
	if err != nil {
		return nil, err
	}
	access := Access{authorizer, &authorization.Access{}}
	reader := state{stored, registry, kinds.namespaces, hooks, authorizer, func() metav1.Time { return metav1.NewTime(o.Now()) }}

	chain := &admissionChain{store: s, builtin: kinds.ordered}
	pipeline := &write.Pipeline{
		Store: s, Memory: stored.memory, Now: reader.now, Random: random,
		Namespaces: kinds.namespaces, WithoutNamespaceLifecycle: !kinds.inTree.NamespaceLifecycle(),
		Registry: registry.fresh, Chain: chain.Load, Cluster: reader, MayCreate: access.mayCreate,
	}
	trail := audittrail.New(o.AuditLevel, o.AuditLog, o.Now)
	own := &loopback{reader, pipeline, ownWrites{trail, requests, o.Now}, &builtin.NodePorts{}, tokens, rules, kinds.options.Network, services}
	users, err := authentication.NewAuthenticator(closing, o.Token, tokens, o.Users, s, builtin.KeyPrefix, o.Now, own.patchSecret)
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
			messages.Each(fmt.Sprintf("fakecluster: %s %s: %v; the next related write tries again", name, key, redact.Request{}.Error(err)))
		},
		AuthenticationInfo: trust.data, Initial: kinds.options, Quotas: quotas,
		Available: aggregate.CheckAvailable, APIServicesOf: aggregate.APIServicesOf, LivesInPods: aggregate.LivesInPods,
	}, kinds.acting)
	aggregate.Recheck(func(ctx context.Context, name string) {
		controllers.Sync(ctx, controller.APIServiceAvailability, "", name)
	})
	pipeline.Follow(afterCommit{chain, flows, aggregate, controllers}.committed)
	if kinds.inTree.ResourceQuota() {
		pipeline.Limit(quota.Charger{Quotas: quotas, Releases: func() bool { return controllers.Acts(controller.ResourceQuotas) }, Stage: own.stageQuota})
	}
	return &Cluster{
		Store: s, Writes: pipeline, Kinds: forKinds{own, users}, Aggregate: aggregate, Users: users, Access: access, Tokens: tokens, Flows: flows,
		History: requests, Audit: trail, Faults: faults, Reads: &Reads{}, Messages: messages, Closing: closing,
		close: end, compact: &compaction{interval: o.CompactionInterval, store: s, fail: messages.Each},
		options: o, builtin: kinds, registry: registry, chain: chain, hooks: hooks, rules: rules, trust: trust, plugins: forPlugins{own}, controllers: controllers,
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

// Registry returns the kinds that are served now.
func (c *Cluster) Registry() *resource.Registry { return c.registry.Load() }

// begin creates the initial objects that the store lacks, and completes what another cluster had begun over the same
// objects, such as the deletion of a namespace.
func (c *Cluster) begin() error {
	revision := c.Store.Revision() // greater than FirstRevision if the store had content
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
		return c.controllers.Begin(context.Background())
	}
	if err := c.Aggregate.Refresh(); err != nil {
		return err
	}
	// The previous server may have stopped before its controllers had finished.
	return c.controllers.Resume(context.Background(), c.Store.Revision())
}

// continueFrom continues in a fork where its origin was when the store was forked.
func (c *Cluster) continueFrom(origin *Cluster) error {
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
