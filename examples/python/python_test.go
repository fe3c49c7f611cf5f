package python

import (
	"os"
	"os/exec"
	"testing"

	"github.com/fakecluster/fakecluster/examples/internal/program"
)

// The tests in Python pass.
func TestPython(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 on the PATH: the example in Python is not tested")
	}
	if exec.Command(python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))").Run() != nil {
		t.Skip("python3 is older than 3.11: the example in Python is not tested")
	}
	command := exec.Command(python, "-B", "-m", "unittest", "-v")
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

func TestMain(m *testing.M) { os.Exit(program.Run(m)) }
