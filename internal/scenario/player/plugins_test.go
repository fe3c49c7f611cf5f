package player

import (
	"slices"
	"testing"

	"github.com/fakecluster/fakecluster/internal/admission/plugins"
	"github.com/fakecluster/fakecluster/internal/scenario/syntax"
)

// shown are the scenarios that show what an admission plugin does.
type shown struct {
	// effect is one in which the plugin changes an object, warns, or lets something pass or happen that
	// would not without it; refusal is one in which it refuses a write.
	effect, refusal string
	// noEffect and noRefusal say why there is none.
	noEffect, noRefusal string
}

const (
	onlyRefuses  = "it validates, and changes nothing"
	onlyChanges  = "it changes objects, and takes all of them"
	needsAFile   = "it needs a file; TestEventRateLimit and TestImagePolicyWebhook in fakecluster show it"
	takesNewest  = "of several default classes it takes the newest"
	ignoresNodes = "it takes a node that is not there for one without labels"
	gated        = "its feature gate GenericWorkload is off by default, and so are PodGroups"
)

var allPlugins = map[string]shown{
	"AlwaysAdmit":                   {noEffect: "it does nothing", noRefusal: "it does nothing"},
	"AlwaysDeny":                    {refusal: "AlwaysDeny refuses every write, of custom objects too", noEffect: onlyRefuses},
	"AlwaysPullImages":              {effect: "AlwaysPullImages sets the pull policy of every container", refusal: "AlwaysPullImages refuses a pod to which a policy has given another pull policy"},
	"CertificateApproval":           {refusal: "Who approves a certificate needs the right to approve for its signer", noEffect: onlyRefuses},
	"CertificateSigning":            {refusal: "Who approves a certificate needs the right to approve for its signer", noEffect: onlyRefuses},
	"CertificateSubjectRestriction": {refusal: "Who approves a certificate needs the right to approve for its signer", noEffect: onlyRefuses},
	"ClusterTrustBundleAttest":      {refusal: "Who writes a ClusterTrustBundle needs the right to attest for its signer", noEffect: onlyRefuses},
	"DefaultIngressClass":           {effect: "An Ingress gets the default class", noRefusal: takesNewest},
	"DefaultStorageClass":           {effect: "A claim gets the default class, and grows only where its class allows it", noRefusal: takesNewest},
	"DefaultTolerationSeconds":      {effect: "A Pod tolerates for five minutes that its node is not ready", noRefusal: onlyChanges},
	"DenyServiceExternalIPs":        {refusal: "DenyServiceExternalIPs refuses new external IPs of Services", noEffect: onlyRefuses},
	"EventRateLimit":                {noEffect: onlyRefuses, noRefusal: needsAFile},
	"ExtendedResourceToleration": {
		effect:    "ExtendedResourceToleration tolerates the taints of the extended resources that a pod requests",
		noRefusal: onlyChanges},
	"ImagePolicyWebhook":               {noEffect: needsAFile, noRefusal: needsAFile},
	"LimitPodHardAntiAffinityTopology": {refusal: "LimitPodHardAntiAffinityTopology allows hard anti-affinity between nodes alone", noEffect: onlyRefuses},
	"LimitRanger":                      {effect: "A LimitRange gives containers their limits and refuses what is beyond", refusal: "A LimitRange gives containers their limits and refuses what is beyond"},
	"MutatingAdmissionPolicy":          {effect: "An apply configuration is merged into the object, as server-side apply would", refusal: "An expression that cannot be evaluated refuses the request, unless the failurePolicy is Ignore"},
	"MutatingAdmissionWebhook":         {effect: "Webhooks change an object in the order of their configurations' names", refusal: "A patch that does not fit the object is an error of the server, whatever the failure policy"},
	"NamespaceAutoProvision":           {effect: "NamespaceAutoProvision creates the namespace of a new object, of a custom one too", noRefusal: "it makes the namespaces that it misses"},
	"NamespaceExists":                  {refusal: "NamespaceExists refuses writes in namespaces that do not exist", noEffect: onlyRefuses},
	"NamespaceLifecycle":               {refusal: "An object cannot be created in a namespace that does not exist", noEffect: onlyRefuses},
	"NodeDeclaredFeatureValidator":     {refusal: "An update of a Pod that needs a feature of its node is for nodes that declare it", noEffect: onlyRefuses},
	"NodeRestriction":                  {refusal: "NodeRestriction lets a kubelet write to its own node and nothing else", noEffect: onlyRefuses},
	"OwnerReferencesPermissionEnforcement": {
		refusal:  "OwnerReferencesPermissionEnforcement lets nobody hold back the deletion of what he cannot change",
		noEffect: onlyRefuses},
	"PersistentVolumeClaimResize": {refusal: "A claim gets the default class, and grows only where its class allows it", noEffect: onlyRefuses},
	"PodGroupProtection":          {noEffect: gated, noRefusal: gated},
	"PodNodeSelector":             {effect: "PodNodeSelector gives pods the node selector of their namespace, and refuses another one", refusal: "PodNodeSelector gives pods the node selector of their namespace, and refuses another one"},
	"PodResizeValidator":          {refusal: "A Pod is resized to what its node has, and only on Linux", noEffect: onlyRefuses},
	"PodSecurity":                 {effect: "The labels of a namespace refuse Pods, or warn of them", refusal: "The labels of a namespace refuse Pods, or warn of them"},
	"PodTolerationRestriction": {
		effect:  "PodTolerationRestriction gives pods the tolerations of their namespace, and refuses those that it does not list",
		refusal: "PodTolerationRestriction gives pods the tolerations of their namespace, and refuses those that it does not list"},
	"PodTopologyLabels":            {effect: "A Pod that is bound gets the topology of its node", noRefusal: ignoresNodes},
	"Priority":                     {effect: "A Pod gets the priority of its class", refusal: "A Pod gets the priority of its class"},
	"ResourceQuota":                {effect: "A ResourceQuota limits what a namespace uses, and its status says how much that is", refusal: "A ResourceQuota limits what a namespace uses, and its status says how much that is"},
	"RuntimeClass":                 {effect: "A Pod gets the overhead and the nodes of its RuntimeClass", refusal: "A Pod gets the overhead and the nodes of its RuntimeClass"},
	"ServiceAccount":               {effect: "A Pod gets the ServiceAccount default, its token and its pull secrets", refusal: "A Pod whose ServiceAccount is not there is refused at once"},
	"StorageObjectInUseProtection": {effect: "A claim gets the default class, and grows only where its class allows it", noRefusal: onlyChanges},
	"TaintNodesByCondition":        {effect: "A new Node is tainted until it is ready", noRefusal: onlyChanges},
	"ValidatingAdmissionPolicy":    {effect: "Deny refuses the request, Warn warns, Audit lets it pass", refusal: "The first validation of a policy that denies is the answer"},
	"ValidatingAdmissionWebhook":   {effect: "Warnings come with the answer, with a refusal too, each once", refusal: "Validating webhooks are called for valid objects, and the first of them that rejects is the answer"},
}

// Each scenario of the table goes another way if its plugin is turned off.
func TestEachAdmissionPluginHasItsScenarios(t *testing.T) {
	for _, name := range plugins.Names() {
		if _, ok := allPlugins[name]; !ok {
			t.Errorf("%s is missing", name)
		}
	}
	for name := range allPlugins {
		if !slices.Contains(plugins.Names(), name) {
			t.Errorf("there is no plugin %s", name)
		}
	}
	loaded, err := syntax.Load("../../../scenarios")
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*syntax.Scenario{}
	for _, s := range loaded {
		byName[s.Name] = s
	}
	for name, tt := range allPlugins {
		if (tt.effect == "") != (tt.noEffect != "") || (tt.refusal == "") != (tt.noRefusal != "") {
			t.Errorf("%s needs a scenario or a reason, for its effect and for its refusal", name)
		}
		for kind, what := range map[string]string{"effect": tt.effect, "refusal": tt.refusal} {
			if what == "" {
				continue
			}
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				s := byName[what]
				if s == nil {
					t.Fatalf("there is no scenario %q", what)
				}
				differs := failing(t, without(s, name), kind == "refusal")
				if len(differs) == 0 {
					t.Errorf("%s: without %s the scenario passes", s.Position, name)
				}
			})
		}
	}
}

// without is a scenario on a cluster without a plugin.
func without(s *syntax.Scenario, plugin string) *syntax.Scenario {
	other := *s
	isPlugin := func(name string) bool { return name == plugin }
	if on := s.Cluster.WithAdmissionPlugins; slices.ContainsFunc(on, isPlugin) {
		other.Cluster.WithAdmissionPlugins = slices.DeleteFunc(slices.Clone(on), isPlugin)
	} else {
		other.Cluster.WithoutAdmissionPlugins = append(slices.Clone(s.Cluster.WithoutAdmissionPlugins), plugin)
	}
	return &other
}

// failing are the steps of a scenario that do not go as expected: those that expect a refusal,
// or the others. A step of the setup that is refused counts among the others.
func failing(t *testing.T, s *syntax.Scenario, refused bool) (positions []syntax.Position) {
	p, failed := begin(t.Context(), s, InProcess)
	if failed != nil {
		t.Fatal(failed)
	}
	defer p.close()
	for _, step := range slices.Concat(s.Setup, s.Steps) {
		if p.step(t.Context(), step) != nil && step.HasError == refused {
			positions = append(positions, step.Pos)
		}
	}
	return positions
}
