package plugins

import (
	"cmp"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
	upstream "k8s.io/apiserver/pkg/admission"
	policyconfig "k8s.io/apiserver/pkg/admission/plugin/policy/config"
	mutatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/mutating"
	validatingpolicy "k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/resourcequota"
	quotaapi "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
	webhookconfig "k8s.io/apiserver/pkg/admission/plugin/webhook/config"
	mutatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/mutating"
	validatingwebhook "k8s.io/apiserver/pkg/admission/plugin/webhook/validating"
	"k8s.io/apiserver/pkg/apis/apiserver/install"
)

// Configuration is the configuration of plugins in the file of kube-apiserver's flag
// --admission-control-config-file. The zero value configures nothing.
type Configuration struct {
	plugins upstream.ConfigProvider
	// MutatingKubeconfig and ValidatingKubeconfig are the files with the credentials for
	// webhooks; empty: none.
	MutatingKubeconfig, ValidatingKubeconfig string
	limited                                  []quotaapi.LimitedResource
}

// ReadConfiguration reads the file. It fails with the errors of a real server, and for a setting that fakecluster does
// not support.
func ReadConfiguration(file string) (Configuration, error) {
	if file == "" {
		return Configuration{}, nil
	}
	scheme := runtime.NewScheme()
	install.Install(scheme)
	plugins, err := upstream.ReadAdmissionConfiguration(Names(), file, scheme)
	if err != nil {
		return Configuration{}, fmt.Errorf("failed to read plugin config: %w", err)
	}
	c := Configuration{plugins: plugins}
	for _, elsewhere := range []struct {
		plugin string
		read   func(io.Reader) error
	}{
		{mutatingpolicy.PluginName, func(from io.Reader) error {
			loaded, err := policyconfig.LoadMutatingConfig(from)
			return cmp.Or(err, refuseManifests(loaded.StaticManifestsDir))
		}},
		{validatingpolicy.PluginName, func(from io.Reader) error {
			loaded, err := policyconfig.LoadValidatingConfig(from)
			return cmp.Or(err, refuseManifests(loaded.StaticManifestsDir))
		}},
		{mutatingwebhook.PluginName, readKubeconfig(&c.MutatingKubeconfig)},
		{validatingwebhook.PluginName, readKubeconfig(&c.ValidatingKubeconfig)},
		{resourcequota.PluginName, func(from io.Reader) error {
			loaded, err := resourcequota.LoadConfiguration(from)
			if err == nil {
				c.limited = loaded.LimitedResources
			}
			return err
		}},
	} {
		from, err := c.reader(elsewhere.plugin)
		if err != nil {
			return Configuration{}, err
		}
		if err := elsewhere.read(from); err != nil {
			return Configuration{}, fmt.Errorf("couldn't init admission plugin %q: %w", elsewhere.plugin, err)
		}
	}
	return c, nil
}

// readKubeconfig returns a function that reads the name of the file with the credentials for webhooks.
func readKubeconfig(into *string) func(io.Reader) error {
	return func(from io.Reader) error {
		loaded, err := webhookconfig.LoadConfig(from)
		if err != nil {
			return err
		}
		*into = loaded.KubeConfigFile
		return refuseManifests(loaded.StaticManifestsDir)
	}
}

func refuseManifests(folder string) error {
	if folder == "" {
		return nil
	}
	return fmt.Errorf("fakecluster does not support staticManifestsDir (%s): create the objects in the cluster instead", folder)
}

// reader returns the configuration of a plugin, or nil if there is none.
func (c Configuration) reader(plugin string) (io.Reader, error) {
	if c.plugins == nil {
		return nil, nil
	}
	return c.plugins.ConfigFor(plugin)
}

// Limited returns the resources that may not be used without a quota.
func (c Configuration) Limited() []quotaapi.LimitedResource { return c.limited }
