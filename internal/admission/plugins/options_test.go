package plugins

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPluginsAreThoseOfARealServerInItsOrder(t *testing.T) {
	want, on := upstreamPlugins(t)
	var names []string
	for _, p := range ordered {
		names = append(names, p.name)
		if p.offByDefault == slices.Contains(on, p.name) {
			t.Errorf("%s is off by default: %v, and not so on a real server", p.name, p.offByDefault)
		}
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("plugins of order.go (-real +got):\n%s", diff)
	}
}

// TestDocsListEveryPlugin compares the row plugins of docs/features.md with the table, in its order.
func TestDocsListEveryPlugin(t *testing.T) {
	page, err := os.ReadFile("../../../docs/features.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile(`(?m)^\| plugins \| .* On by default: (.*)\. Off by default: (.*) \|$`).FindStringSubmatch(string(page))
	if row == nil {
		t.Fatal("docs/features.md does not have the row plugins")
	}
	condition := regexp.MustCompile(` \([^)]*\)`)
	for i, list := range []string{"on", "off"} {
		var want []string
		for _, p := range ordered {
			if p.offByDefault == (list == "off") {
				want = append(want, p.name)
			}
		}
		if diff := cmp.Diff(want, strings.Split(condition.ReplaceAllString(row[i+1], ""), ", ")); diff != "" {
			t.Errorf("plugins that are %s by default (-code +docs/features.md):\n%s", list, diff)
		}
	}
}

// upstreamPlugins reads from upstream's source which plugins there are, in order, and which of
// them are on by default. The names stand in comments there. To import the package would take
// more modules.
func upstreamPlugins(t *testing.T) (every, on []string) {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/kubernetes").Output()
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "pkg/kubeapiserver/options/plugins.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, ordered, _ := strings.Cut(string(source), "var AllOrderedPlugins")
	_, byDefault, _ := strings.Cut(string(source), "defaultOnPlugins := sets.New(")
	named := regexp.MustCompile(`(?m)^\t+\w+\.PluginName, +// (\w+)`)
	names := func(text, end string) (names []string) {
		text, _, _ = strings.Cut(text, end)
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			names = append(names, strings.Replace(m[1], "Mutatingadmissionpolicy", "MutatingAdmissionPolicy", 1))
		}
		return names
	}
	return names(ordered, "\n}"), names(byDefault, "\n\t)")
}

// The chain asks First, the lifecycle of namespaces, InTree, Policies, Webhooks, the quotas and
// Last, one after the other. So the plugins of each place have to stand together.
func TestTheOrderHoldsAcrossPlaces(t *testing.T) {
	stages := []string{}
	for _, p := range ordered {
		stage := map[place]string{inTree: "in-tree", first: "first", last: "last"}[p.place]
		if p.place == elsewhere {
			stage = p.name
		}
		if p.name == "AlwaysAdmit" {
			continue // it does nothing, so that it matters to nobody when
		}
		stages = append(stages, stage)
	}
	want := []string{"first", "NamespaceLifecycle", "in-tree", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook",
		"ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook", "ResourceQuota", "last"}
	if got := slices.Compact(stages); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

func TestPluginsAreTurnedOnAndOffByName(t *testing.T) {
	for _, test := range []struct {
		name            string
		enable, disable []string
		err             string
	}{
		{"some", []string{"AlwaysPullImages"}, []string{"PodSecurity", "LimitRanger"}, ""},
		{"one that is on anyway", []string{"PodSecurity"}, nil, ""},
		{"one that is off anyway", nil, []string{"AlwaysPullImages", "EventRateLimit", "ServiceAccount"}, ""},
		{"those that other packages have", nil, []string{"NamespaceLifecycle", "MutatingAdmissionWebhook", "ResourceQuota"}, ""},
		{"one that there is nowhere", []string{"Guard"}, nil, `enable-admission-plugins plugin "Guard" is unknown`},
		{"two that there are nowhere", []string{"Guard"}, []string{"Guard2", "PodSecurity"},
			"enable-admission-plugins plugin \"Guard\" is unknown\ndisable-admission-plugins plugin \"Guard2\" is unknown"},
		{"one both on and off", []string{"PodSecurity"}, []string{"PodSecurity"}, "[PodSecurity] in enable-admission-plugins and disable-admission-plugins overlapped"},
	} {
		t.Run(test.name, func(t *testing.T) {
			options, err := NewOptions(test.enable, test.disable, Configuration{})
			if got := message(err); got != test.err {
				t.Fatalf("got %q, want %q", got, test.err)
			}
			if err != nil {
				return
			}
			for _, name := range test.enable {
				if options.isOff(name) {
					t.Errorf("%s is off", name)
				}
			}
			for _, name := range test.disable {
				if !options.isOff(name) {
					t.Errorf("%s is on", name)
				}
			}
			if options.isOff("Priority") || !options.isOff("NodeRestriction") {
				t.Error("another one is not as by default")
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
