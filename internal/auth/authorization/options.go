package authorization

import "time"

// Options are the authorizers of a server. Package rest (ModeOptions) says what the fields mean.
type Options struct {
	Modes                             []string // --authorization-mode; none: RBAC
	PolicyFile                        string   // --authorization-policy-file, of the mode ABAC
	WebhookConfigFile, WebhookVersion string
	AuthorizedTTL, UnauthorizedTTL    time.Duration
	ConfigFile                        string // --authorization-config, in place of the modes
}
