package authorization

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	authorizationmetrics "k8s.io/apiserver/pkg/authorization/metrics"
	"k8s.io/apiserver/pkg/authorization/union"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	webhookmetrics "k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"
	"k8s.io/kubernetes/pkg/auth/authorizer/abac"
	kubeauthorizer "k8s.io/kubernetes/pkg/kubeapiserver/authorizer"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/manifests"
)

// The authorization modes of kube-apiserver's flag --authorization-mode.
const (
	RBAC        = "RBAC"
	AlwaysAllow = "AlwaysAllow"
	AlwaysDeny  = "AlwaysDeny"
	Node        = "Node"
	ABAC        = "ABAC"
	Webhook     = "Webhook"
)

var allModes = []string{AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC, Node}

// Modes configures authorizers that are called one after the other. It is immutable. A cluster and its forks share it.
type Modes struct {
	configuration *apiserver.AuthorizationConfiguration
	policies      abac.PolicyList // of ABAC
	// file is the file of the configuration, and data its content at the start; empty: the configuration comes from
	// flags.
	file string
	data []byte
}

// NewModes returns the Modes for options, whose files it reads. The errors are those of kube-apiserver.
func NewModes(o Options) (*Modes, error) {
	m := &Modes{}
	var err error
	if o.ConfigFile != "" {
		if len(o.Modes) > 0 || o.WebhookConfigFile != "" {
			return nil, fmt.Errorf("--authorization-config can not be specified when --authorization-mode or --authorization-webhook-* flags are defined")
		}
		if m.data, err = manifests.ReadFile(o.ConfigFile); err != nil {
			return nil, err
		}
		m.file = o.ConfigFile
		if m.configuration, err = kubeauthorizer.LoadAndValidateData(m.data, authorizationcel.NewDefaultCompiler(), nil); err != nil {
			return nil, err
		}
	} else if m.configuration, err = configurationOf(o); err != nil {
		return nil, err
	}
	if m.Has(ABAC) {
		m.policies, err = abac.NewFromFile(o.PolicyFile)
	}
	return m, err
}

// configurationOf returns the configuration for the flags of single modes.
func configurationOf(o Options) (*apiserver.AuthorizationConfiguration, error) {
	modes := o.Modes
	if len(modes) == 0 {
		modes = []string{RBAC}
	}
	var errs []error
	configuration := &apiserver.AuthorizationConfiguration{}
	for _, mode := range modes {
		config := apiserver.AuthorizerConfiguration{Type: apiserver.AuthorizerType(mode), Name: strings.ToLower(mode)}
		switch {
		case !slices.Contains(allModes, mode):
			errs = append(errs, fmt.Errorf("authorization-mode %q is not a valid mode", mode))
		case mode == ABAC && o.PolicyFile == "":
			errs = append(errs, fmt.Errorf("authorization-mode ABAC's authorization policy file not passed"))
		case mode == Webhook && o.WebhookConfigFile == "":
			errs = append(errs, fmt.Errorf("authorization-mode Webhook's authorization config file not passed"))
		case mode == Webhook:
			config.Name = "default"
			config.Webhook = webhookOf(o)
		}
		configuration.Authorizers = append(configuration.Authorizers, config)
	}
	if o.PolicyFile != "" && !slices.Contains(modes, ABAC) {
		errs = append(errs, fmt.Errorf("cannot specify --authorization-policy-file without mode ABAC"))
	}
	if o.WebhookConfigFile != "" && !slices.Contains(modes, Webhook) {
		errs = append(errs, fmt.Errorf("cannot specify --authorization-webhook-config-file without mode Webhook"))
	}
	if sets.New(modes...).Len() != len(modes) {
		errs = append(errs, fmt.Errorf("authorization-mode %q has mode specified more than once", modes))
	}
	return configuration, utilerrors.NewAggregate(errs)
}

// webhookOf returns the configuration of the webhook for the flags.
func webhookOf(o Options) *apiserver.WebhookConfiguration {
	return &apiserver.WebhookConfiguration{
		AuthorizedTTL: metav1.Duration{Duration: o.AuthorizedTTL}, CacheAuthorizedRequests: o.AuthorizedTTL != 0,
		UnauthorizedTTL: metav1.Duration{Duration: o.UnauthorizedTTL}, CacheUnauthorizedRequests: o.UnauthorizedTTL != 0,
		Timeout: metav1.Duration{Duration: 30 * time.Second}, FailurePolicy: apiserver.FailurePolicyNoOpinion,
		SubjectAccessReviewVersion: o.WebhookVersion,
		ConnectionInfo: apiserver.WebhookConnectionInfo{
			Type: apiserver.AuthorizationWebhookConnectionInfoTypeKubeConfigFile, KubeConfigFile: &o.WebhookConfigFile,
		},
	}
}

// Has reports whether a mode is configured.
func (m *Modes) Has(mode string) bool {
	return slices.ContainsFunc(m.configuration.Authorizers, func(a apiserver.AuthorizerConfiguration) bool { return string(a.Type) == mode })
}

// By returns an authorizer that calls the authorizers of the modes in turn. The first one that allows or denies decides.
// The mode Node reads the store of the rules. Members of system:masters may do everything in any mode.
func (m *Modes) By(r *Rules) (Authorizer, error) {
	built := &authorizers{policies: m.policies}
	if m.Has(RBAC) {
		built.rules = &byRules{r}
	}
	if m.Has(Node) {
		built.nodes = newNodeAuthorizer(r.store, r.prefixes)
	}
	by, err := built.build(m.configuration)
	if err != nil || m.file == "" {
		return by, err
	}
	return newReloading(m, built, by), nil
}

// authorizers has the authorizers of the modes of a cluster. A mode that is not configured at the start is nil; as on a
// real server, a later configuration with it is rejected.
type authorizers struct {
	rules    *byRules
	nodes    *nodeAuthorizer
	policies abac.PolicyList
}

// build returns the authorizers of a configuration.
func (a *authorizers) build(c *apiserver.AuthorizationConfiguration) (Authorizer, error) {
	named := []union.NamedAuthorizer{{AuthorizerName: "kubernetes.io/system-privileged-group", Authorizer: authorizerfactory.NewPrivilegedGroups(user.SystemPrivilegedGroup)}}
	var resolvers []authorizer.RuleResolver
	for _, config := range c.Authorizers {
		var by Authorizer
		switch mode := string(config.Type); mode {
		case RBAC:
			if a.rules == nil {
				return nil, notFromTheStart(mode)
			}
			by = a.rules
		case AlwaysAllow:
			by = authorizerfactory.NewAlwaysAllowAuthorizer()
		case AlwaysDeny:
			by = authorizerfactory.NewAlwaysDenyAuthorizer()
		case Node:
			if a.nodes == nil {
				return nil, notFromTheStart(mode)
			}
			by = a.nodes
		case ABAC:
			if a.policies == nil {
				return nil, notFromTheStart(mode)
			}
			by = a.policies
		case Webhook:
			var err error
			if by, err = newWebhook(config); err != nil {
				return nil, err
			}
		default:
			return nil, fmt.Errorf("unknown authorization mode %s specified", mode)
		}
		named = append(named, union.NamedAuthorizer{AuthorizerName: config.Name, Authorizer: authorizationmetrics.InstrumentedAuthorizer(string(config.Type), config.Name, by)})
		resolvers = append(resolvers, by)
	}
	in, err := union.New(named...)
	return byModes{in, union.NewRuleResolvers(resolvers...)}, err
}

func notFromTheStart(mode string) error {
	return fmt.Errorf("authorizer type %s is not allowed if it was not enabled at initial server startup", mode)
}

// newWebhook returns an authorizer that calls a webhook.
func newWebhook(config apiserver.AuthorizerConfiguration) (Authorizer, error) {
	client, err := authentication.WebhookConfig(*config.Webhook.ConnectionInfo.KubeConfigFile)
	if err != nil {
		return nil, err
	}
	if config.Webhook.Timeout.Duration != 0 {
		client.Timeout = config.Webhook.Timeout.Duration
	}
	onError := authorizer.DecisionNoOpinion
	if config.Webhook.FailurePolicy == apiserver.FailurePolicyDeny {
		onError = authorizer.DecisionDeny
	}
	var allowed, refused time.Duration
	if config.Webhook.CacheAuthorizedRequests {
		allowed = config.Webhook.AuthorizedTTL.Duration
	}
	if config.Webhook.CacheUnauthorizedRequests {
		refused = config.Webhook.UnauthorizedTTL.Duration
	}
	return webhook.New(client, config.Webhook.SubjectAccessReviewVersion, allowed, refused, authentication.WebhookBackoff, onError, config.Webhook.MatchConditions, config.Name,
		measured{WebhookMetrics: webhookmetrics.NewWebhookMetrics(), MatcherMetrics: authorizationcel.NewMatcherMetrics()},
		authorizationcel.NewDefaultCompiler())
}

// measured records kube-apiserver's metrics of a webhook.
type measured struct {
	webhookmetrics.NoopRequestMetrics
	webhookmetrics.WebhookMetrics
	authorizationcel.MatcherMetrics
}
