package controlplane

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/release"
)

// asProgram sets the user agent of a client, as in kube-controller-manager and kube-scheduler. The name of the program
// becomes the manager in managedFields.
func asProgram(config *rest.Config, program, part string) *rest.Config {
	config.UserAgent = fmt.Sprintf("%s/%s (%s/%s) kubernetes/fakecluster/%s", program, release.Info().GitVersion, runtime.GOOS, runtime.GOARCH, part)
	config.WarningHandler = rest.NoWarnings{} // by default they are written to the log of the process
	return config
}

// sharedInformers is the part of kube-controller-manager whose informers all controllers share.
const sharedInformers = "shared-informers"

// IsSharedInformer reports whether a user agent is that of the informers that all controllers share.
func IsSharedInformer(userAgent string) bool {
	return strings.HasPrefix(userAgent, controllerManager) && strings.HasSuffix(userAgent, "/"+sharedInformers)
}

// NewClient returns a client of a program, whose user agent also names a part of it.
func NewClient(config *rest.Config, program, part string) (kubernetes.Interface, error) {
	return newClient(asProgram(config, program, part))
}

func newClient(config *rest.Config) (kubernetes.Interface, error) {
	transport, err := httpClient(config)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfigAndClient(config, transport)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return client, nil
}

// httpClient returns the http.Client of a client. Unlike rest.HTTPClientFor it does not keep the transport in a global
// cache.
func httpClient(config *rest.Config) (*http.Client, error) {
	transport, err := rest.HTTPWrappersForConfig(config, config.Transport)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &http.Client{Transport: transport}, nil
}
