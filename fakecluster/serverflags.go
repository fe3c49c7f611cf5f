package fakecluster

import (
	"cmp"
	"fmt"

	"github.com/fakecluster/fakecluster/internal/serverflags"
)

// WithAPIServerFlags configures the cluster as flags configure kube-apiserver:
//
//	fakecluster.WithAPIServerFlags("--service-cluster-ip-range=10.96.0.0/16", "--client-ca-file=ca.crt")
//
// A flag does what it does on a real server. Flags about etcd (except --etcd-compaction-interval), caches,
// limits and logs are accepted and have no effect. A flag that would change what clients see, but that
// fakecluster does not have, is an error that says what is missing, unless it has its default value. An
// unknown flag is an error. What the flags leave open comes from the other options and their defaults.
//
// With any of the flags --bind-address, --secure-port, --cert-dir, --client-ca-file,
// --requestheader-client-ca-file, --tls-* and --disable-http2-serving the cluster serves HTTPS, as
// with WithTLS. It listens on loopback addresses only. A fork listens on a port of its own. The user
// of RESTConfig may do everything in any mode of authorization, and trusts the configured certificate.
//
// As on a real server, certificates and authorities may be renewed: the next handshake or request
// after a change of their files goes by the new content, and the ConfigMap
// extension-apiserver-authentication has it before that request is served. A file that cannot be
// read then changes nothing.
//
// The option may be given more than once; the flags are one command line. It is an error if a
// flag and another option say the same thing, as --authorization-mode and WithAuthorization
// do.
//
// Default: none.
func WithAPIServerFlags(flags ...string) Option {
	return func(s *settings) { s.apiServerFlags = append(s.apiServerFlags, flags...) }
}

// readFlags parses the flags of WithAPIServerFlags and merges them into the other settings. After an error no
// file is open.
func (s *settings) readFlags() error {
	if len(s.apiServerFlags) == 0 {
		return nil
	}
	config, err := serverflags.NewConfig(s.apiServerFlags, serverflags.Options{
		InProcess: s.inProcess, Authorization: string(s.authorization), Authorizer: s.authorizer != nil,
		Audit: s.audit != "", CompactionInterval: s.given["WithCompactionInterval"] > 0,
	})
	if err != nil {
		return fmt.Errorf("WithAPIServerFlags: %w", err)
	}
	s.flags = *config
	s.tls = s.tls || config.Serving.TLS
	s.modes = cmp.Or(config.Modes, s.modes)
	s.admissionPlugins = append(s.admissionPlugins, config.EnableAdmissionPlugins...)
	s.noAdmissionPlugins = append(s.noAdmissionPlugins, config.DisableAdmissionPlugins...)
	s.runtimeConfig = append(s.runtimeConfig, config.RuntimeConfig...)
	if interval := config.CompactionInterval; interval != nil {
		s.compaction = *interval
	}
	return nil
}

// commandLine returns the flags with which a real server would be configured as this cluster is.
func (s *settings) commandLine() map[string]string {
	effect := serverflags.InEffect{
		Anonymous: s.flags.Users.Anonymous, CompactionInterval: s.compaction, RuntimeConfig: s.runtimeConfig,
		EnableAdmissionPlugins: s.admissionPlugins, DisableAdmissionPlugins: s.noAdmissionPlugins,
	}
	if s.authorizer == nil {
		effect.Authorization = string(cmp.Or(s.authorization, RBAC))
	}
	return serverflags.CommandLine(s.apiServerFlags, effect)
}
