package authorization

import (
	"bytes"
	"context"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	configmetrics "k8s.io/apiserver/pkg/server/options/authorizationconfig/metrics"
	"k8s.io/klog/v2"
	kubeauthorizer "k8s.io/kubernetes/pkg/kubeapiserver/authorizer"

	"github.com/fakecluster/fakecluster/internal/manifests"
)

// serverID identifies the server in the metrics of its configuration.
const serverID = "fakecluster"

// reloading calls the authorizers that a file configures. A real server watches the file. Here each request checks
// whether it has changed, so that a change applies to the next request. A file with mistakes changes nothing.
type reloading struct {
	built    *authorizers
	file     string
	required sets.Set[apiserver.AuthorizerType] // modes that must remain

	mu            sync.Mutex
	by            Authorizer
	configuration *apiserver.AuthorizationConfiguration
	data          []byte
	read          manifests.Stamp
}

func newReloading(m *Modes, built *authorizers, by Authorizer) *reloading {
	r := &reloading{built: built, file: m.file, required: sets.New[apiserver.AuthorizerType](), by: by, configuration: m.configuration, data: m.data}
	for _, a := range m.configuration.Authorizers {
		if a.Type != apiserver.TypeWebhook {
			r.required.Insert(a.Type)
		}
	}
	configmetrics.RegisterMetrics()
	configmetrics.RecordAuthorizationConfigLastConfigInfo(serverID, string(m.data))
	return r
}

// current returns the authorizer for the current content of the file.
func (r *reloading) current() Authorizer {
	r.mu.Lock()
	defer r.mu.Unlock()
	current := manifests.StampOf(r.file)
	if current.Equals(r.read) {
		return r.by
	}
	r.read = current
	if err := r.load(); err != nil {
		klog.ErrorS(err, "reloading authorization config")
		configmetrics.RecordAuthorizationConfigAutomaticReloadFailure(serverID)
	}
	return r.by
}

// load reads the file if it has changed.
func (r *reloading) load() error {
	data, err := manifests.ReadFile(r.file)
	if err != nil || bytes.Equal(data, r.data) {
		return err
	}
	r.data = data
	configuration, err := kubeauthorizer.LoadAndValidateData(data, authorizationcel.NewDefaultCompiler(), r.required)
	if err != nil || reflect.DeepEqual(configuration, r.configuration) {
		return err
	}
	by, err := r.built.build(configuration)
	if err != nil {
		return err
	}
	r.by, r.configuration = by, configuration
	configmetrics.RecordAuthorizationConfigAutomaticReloadSuccess(serverID, string(data))
	return nil
}

// Authorize implements authorizer.Authorizer.
func (r *reloading) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	return r.current().Authorize(ctx, a)
}

// ConditionsAwareAuthorize implements authorizer.Authorizer.
func (r *reloading) ConditionsAwareAuthorize(ctx context.Context, a authorizer.Attributes) authorizer.ConditionsAwareDecision {
	return r.current().ConditionsAwareAuthorize(ctx, a)
}

// EvaluateConditions implements authorizer.Authorizer.
func (r *reloading) EvaluateConditions(ctx context.Context, d authorizer.ConditionsAwareDecision, data authorizer.ConditionsData) (authorizer.Decision, string, error) {
	return r.current().EvaluateConditions(ctx, d, data)
}

// RulesFor implements authorizer.RuleResolver.
func (r *reloading) RulesFor(ctx context.Context, u user.Info, namespace string) ([]authorizer.ResourceRuleInfo, []authorizer.NonResourceRuleInfo, bool, error) {
	return r.current().RulesFor(ctx, u, namespace)
}
