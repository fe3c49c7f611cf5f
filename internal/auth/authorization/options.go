package authorization

import "time"

// Options configure the authorizers of a server, as the flags of kube-apiserver do.
type Options struct {
	Modes []string // --authorization-mode; none: RBAC

	PolicyFile string // --authorization-policy-file, of the mode ABAC

	// The flags --authorization-webhook-*, of the mode Webhook.
	WebhookConfigFile, WebhookVersion string
	AuthorizedTTL, UnauthorizedTTL    time.Duration

	ConfigFile string // --authorization-config, in place of the modes
}
