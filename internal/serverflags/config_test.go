package serverflags

import (
	cryptotls "crypto/tls"
	"os"
	"path/filepath"
	"testing"

	"github.com/fakecluster/fakecluster/internal/auth/authentication"
	"github.com/fakecluster/fakecluster/internal/release"
)

const auditPolicy = `{"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": [{"level": "Metadata"}]}`

// put writes a file, and returns its path.
func put(t *testing.T, folder, name string, content []byte) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFlagsThatContradictEachOther(t *testing.T) {
	folder := t.TempDir()
	policy := put(t, folder, "policy.yaml", []byte(auditPolicy))
	audit := []string{"--audit-policy-file=" + policy, "--audit-log-path=" + filepath.Join(folder, "log")}
	older := release.Names()[0]
	for _, test := range []struct {
		rule  string
		args  []string
		other Options
		want  string
	}{
		{"services and the server have addresses of one family", []string{"--service-cluster-ip-range=10.96.0.0/16", "--advertise-address=2001:db8::1"}, Options{},
			`service IP family "10.96.0.0/16" must match public address family "2001:db8::1"`},
		{"and may have those of both", []string{"--service-cluster-ip-range=fd00::/108,10.96.0.0/16", "--advertise-address=2001:db8::1"}, Options{}, ""},
		{"an interval is not negative", []string{"--etcd-compaction-interval=-1ns"}, Options{}, "--etcd-compaction-interval=-1ns is negative; 0 means never"},
		{"it is given once", []string{"--etcd-compaction-interval=5m"}, Options{CompactionInterval: true}, "WithCompactionInterval and --etcd-compaction-interval say the same; give one of them"},
		{"audit events are kept in one place", audit, Options{Audit: true}, "WithAudit and --audit-log-path exclude each other; give one of them"},
		{"a policy alone keeps none", audit[:1], Options{Audit: true}, ""},
		{"a cluster has the version of the process", []string{"--emulated-version=" + older}, Options{}, "--emulated-version=" + older + ": this process behaves as Kubernetes " + release.Version().String() +
			", and upstream's feature gates belong to the process: set " + release.EmulatedVariable + "=" + older + " before it starts"},
		{"which may be named", []string{"--emulated-version=kube=" + release.Version().String()}, Options{}, ""},
		{"flags about the socket need one", []string{"--secure-port=1234"}, Options{InProcess: true}, "InProcess excludes flags about the socket, such as --secure-port: remove one of them"},
	} {
		got := ""
		if _, err := NewConfig(test.args, test.other); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", test.rule, got, test.want)
		}
	}
}

// One flag about audit without the other has no effect, as on a real server.
func TestTheAuditLogNeedsAPolicy(t *testing.T) {
	folder := t.TempDir()
	policy := "--audit-policy-file=" + put(t, folder, "policy.yaml", []byte(auditPolicy))
	log := "--audit-log-path=" + filepath.Join(folder, "new", "log")
	for _, test := range []struct {
		args []string
		want bool
	}{{nil, false}, {[]string{policy}, false}, {[]string{log}, false}, {[]string{policy, log}, true}} {
		c, err := NewConfig(test.args, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.AuditLog != nil; got != test.want {
			t.Errorf("%q: a log %t, want %t", test.args, got, test.want)
		}
	}
}

// The document of the flags has what is in effect, whether a flag or another option has set it.
func TestTheCommandLineOfACluster(t *testing.T) {
	effect := InEffect{Authorization: "RBAC", Anonymous: true, RuntimeConfig: []string{"b/v1=true", "a/v1=false"}}
	for flag, test := range map[string]struct {
		args []string
		want string
	}{
		"authorization-mode":       {nil, "[RBAC]"},
		"anonymous-auth":           {nil, "true"},
		"runtime-config":           {nil, "a/v1=false,b/v1=true"},
		"etcd-compaction-interval": {nil, "0s"},
		"secure-port":              {[]string{"--secure-port=1234"}, "1234"},
		"request-timeout":          {nil, "1m0s"},
	} {
		if got := CommandLine(test.args, effect)[flag]; got != test.want {
			t.Errorf("--%s: %q, want %q", flag, got, test.want)
		}
	}
	if got := CommandLine([]string{"--authorization-mode=Node,RBAC"}, effect)["authorization-mode"]; got != "[Node,RBAC]" {
		t.Errorf("a given mode: %q", got)
	}
	if got := CommandLine([]string{"--x"}, effect); got != nil {
		t.Errorf("a command line that is not valid: %v", got)
	}
}

// Of several certificates for a name the first is used, and one that is named by a flag before one that has the name.
func TestTheCertificateForAName(t *testing.T) {
	authority, err := authentication.NewAuthority("test")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	write := func(name string) (cert, key string) {
		certificate, privateKey, err := authority.ClientCertificate("web.example.com")
		if err != nil {
			t.Fatal(err)
		}
		return put(t, folder, name+".crt", certificate), put(t, folder, name+".key", privateKey)
	}
	read := func(name string, names ...string) *certificateFile {
		cert, key := write(name)
		c, err := readCertificate(cert, key, names...)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	usual, first, second, named := read("usual"), read("first"), read("second"), read("named", "*.example.com", "10.0.0.1")
	chosen := func(files ...*certificateFile) map[string]*cryptotls.Certificate {
		//lint:ignore SA1019 crypto/tls looks for names with wildcards in it
		return handshakeConfig(&cryptotls.Config{}, usual, files, &cryptotls.ClientHelloInfo{ServerName: "web.example.com"}).NameToCertificate
	}
	if got := chosen(first, second)["web.example.com"]; got != first.pair {
		t.Error("the second certificate with a name is used")
	}
	if got := chosen(read("third", "web.example.com"), named, first)["web.example.com"]; got == first.pair {
		t.Error("a certificate that has a name is used in place of one that a flag gives for it")
	}
	if got := chosen(named); got["*.example.com"] != named.pair || got["web.example.com"] != nil {
		t.Errorf("names of a flag: %v", got)
	}

	// A renewed certificate is used at once, and a file that is half written is not.
	former := first.pair
	put(t, folder, "first.crt", []byte("half"))
	if pair, _ := first.current(); pair != former {
		t.Error("a file that cannot be read takes the place of the certificate")
	}
	write("first")
	if pair, names := first.current(); pair == former || len(names) != 1 || names[0] != "web.example.com" {
		t.Errorf("the renewed certificate is not used: %v", names)
	}
}
