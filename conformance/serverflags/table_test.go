package serverflags

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
	"k8s.io/component-base/cli/globalflag"
	"k8s.io/component-base/logs"
	_ "k8s.io/component-base/logs/json/register" // the flags of logs in JSON, as in the command
	"k8s.io/component-base/version/verflag"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"

	"github.com/fakecluster/fakecluster/internal/serverflags"
)

// flag is what the table says of a flag that the real server says as well.
type flag struct{ Short, Type, Default string }

// The server registers its flags as its command does.
func TestTheTableHasTheFlagsOfTheRealServer(t *testing.T) {
	sets := options.NewServerRunOptions().Flags()
	verflag.AddFlags(sets.FlagSet("global"))
	globalflag.AddGlobalFlags(sets.FlagSet("global"), "kube-apiserver", logs.SkipLoggingConfigurationFlags())

	want, got := map[string]flag{}, map[string]flag{}
	for _, set := range sets.FlagSets {
		set.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
		set.VisitAll(func(f *pflag.Flag) {
			present := flag{f.Shorthand, f.Value.Type(), f.DefValue}
			if present.Default == "<nil>" { // no address
				present.Default = ""
			}
			want[f.Name] = present
		})
	}
	for _, name := range []string{"help", "version"} { // which every command has
		delete(want, name)
		if _, err := serverflags.Parse([]string{"--" + name}); err != nil && !errors.Is(err, serverflags.ErrHelp) {
			t.Errorf("--%s: %v", name, err)
		}
	}
	for _, f := range serverflags.Table {
		got[f.Name] = flag{f.Short, f.Type, f.Default}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-real server +table)\n%s", diff)
	}
}
