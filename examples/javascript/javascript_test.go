package javascript

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fakecluster/fakecluster/examples/internal/program"
)

// The tests in JavaScript pass.
func TestJavaScript(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("there is no node on the PATH: the example in JavaScript is not tested")
	}
	const supported = "const [major, minor] = process.versions.node.split('.').map(Number); process.exit(major > 20 || major == 20 && minor >= 12 ? 0 : 1)"
	if exec.Command(node, "-e", supported).Run() != nil {
		t.Skip("node is older than 20.12: the example in JavaScript is not tested")
	}
	if _, err := os.Stat(filepath.Join("node_modules", "@kubernetes", "client-node")); err != nil {
		t.Skip("@kubernetes/client-node is not installed (npm ci): the example in JavaScript is not tested")
	}
	out, err := exec.Command(node, "--test").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func TestMain(m *testing.M) { os.Exit(program.Run(m)) }
