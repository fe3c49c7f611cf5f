package images

import (
	"context"
	"fmt"
	"io"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// A shell runs each line when it comes, and ends with exit even if its standard input stays open, as that of kubectl debug -i does.
func TestShellReadsLines(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	workloads.Run(t, c, workloads.Nodes(1), workloads.Image("test", func(ctx context.Context, p *workloads.Container) error {
		in, lines := io.Pipe()
		go func() { _, _ = io.WriteString(lines, "for i in 1 2\ndo echo $i\ndone\nfalse\necho $?\nexit 3\n") }()
		err := sh(ctx, &workloads.ExecCommand{Container: p, Args: []string{"sh"}, Stdin: in, Stdout: p.Stdout, Stderr: p.Stderr})
		fmt.Fprintln(p.Stdout, "it ends with", err)
		return nil
	}))
	client := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Pods("default")
	pod, err := client.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "lines"},
		Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "c", Image: "test"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	c.WaitFor(t, pod, fakecluster.CEL(`object.status.phase in ["Succeeded", "Failed"]`))
	log, err := client.GetLogs("lines", &corev1.PodLogOptions{}).DoRaw(t.Context())
	if want := "1\n2\n1\nit ends with exit code 3\n"; err != nil || string(log) != want {
		t.Errorf("the log is %q, %v, want %q", log, err, want)
	}
}
