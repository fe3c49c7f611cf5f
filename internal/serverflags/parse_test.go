package serverflags

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		rule string
		args []string
		err  string
	}{
		{"an applied flag is taken", []string{"--secure-port=1234"}, ""},
		{"a value may follow", []string{"--secure-port", "1234"}, ""},
		{"underscores are hyphens", []string{"--secure_port=1234"}, ""},
		{"what has no effect is taken", []string{"--etcd-servers=http://127.0.0.1:1", "--watch-cache=false", "-v=4", "--max-requests-inflight=3000", "--vmodule=a=1"}, ""},
		{"an unknown flag is an error as on a real server", []string{"--insecure-port=0"}, "unknown flag: --insecure-port"},
		{"so is a value that cannot be read", []string{"--secure-port=x"}, `invalid argument "x" for "--secure-port" flag: strconv.ParseInt: parsing "x": invalid syntax`},
		{"and an argument", []string{"start"}, `"kube-apiserver" does not take any arguments, got ["start"]`},
		{"a flag without its value", []string{"--client-ca-file"}, "flag needs an argument: --client-ca-file"},
		{"what is missing is refused by name", []string{"--tracing-config-file=a"}, "fakecluster does not have --tracing-config-file=a: there are no traces"},
		{"all of them at once", []string{"--debug-socket-path=a", "--audit-log-version=b"},
			"fakecluster does not have --audit-log-version=b: events are of audit.k8s.io/v1\nfakecluster does not have --debug-socket-path=a: there is no socket for debugging"},
		{"the value of a server without the flag is taken", []string{"--tracing-config-file=", "--enable-garbage-collector=true", "--service-node-port-range=30000-32767", "--request-timeout=60s", "--default-not-ready-toleration-seconds=300"}, ""},
		{"privileged containers cannot be refused", []string{"--allow-privileged=false"}, "fakecluster does not have --allow-privileged=false: containers may be privileged in every cluster"},
		{"but may be allowed", []string{"--allow-privileged=true"}, ""},
	} {
		_, err := Parse(c.args)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != c.err {
			t.Errorf("%s: %q, want %q", c.rule, got, c.err)
		}
	}
	if _, err := Parse([]string{"--help"}); !errors.Is(err, ErrHelp) {
		t.Errorf("--help: %v", err)
	}
}

func TestValues(t *testing.T) {
	flags, err := Parse([]string{
		"--authorization-mode=AlwaysDeny,RBAC", "--authorization-mode=AlwaysAllow", "--service-account-issuer=https://a,b", "--service-account-issuer=https://c",
		"--runtime-config=api/beta=true,apps/v1=false,batch/v1", "--bind-address=::1", "--feature-gates=AllAlpha=false,kube:WatchList=true", "--feature-gates=AllBeta=1", "--anonymous-auth=false",
	})
	if err != nil {
		t.Fatal(err)
	}
	got := []any{flags.List("authorization-mode"), flags.List("service-account-issuer"), flags.Pairs("runtime-config"), flags.Text("bind-address"), flags.List("feature-gates"),
		flags.Bool("anonymous-auth"), flags.Bool("service-account-extend-token-expiration"), flags.Given("anonymous-auth"), flags.Given("secure-port"), flags.Text("cert-dir")}
	want := []any{[]string{"AlwaysDeny", "RBAC", "AlwaysAllow"}, []string{"https://a,b", "https://c"}, map[string]string{"api/beta": "true", "apps/v1": "false", "batch/v1": ""}, "::1",
		[]string{"AllAlpha=false", "kube:WatchList=true", "AllBeta=1"}, false, true, true, false, ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// Every flag of the table can be set, and is in --help.
func TestTable(t *testing.T) {
	usage := Usage()
	for i, f := range Table {
		if f.Applied != "" && f.Refused != "" {
			t.Errorf("--%s is applied and refused", f.Name)
		}
		if i > 0 && Table[i-1].Name >= f.Name {
			t.Errorf("--%s is not in order", f.Name)
		}
		if !slices.Contains(strings.Fields(usage), "--"+f.Name) {
			t.Errorf("--help does not list --%s", f.Name)
		}
		if f.Default == "" || f.Default == "[]" || strings.HasPrefix(f.Default, "[") || f.Only != "" {
			continue
		}
		if _, err := Parse([]string{"--" + f.Name + "=" + f.Default}); err != nil {
			t.Errorf("the default of --%s: %v", f.Name, err)
		}
	}
	if strings.Contains(usage, "--insecure-port") {
		t.Error("envtest would take the server for one of 1.19")
	}
}
