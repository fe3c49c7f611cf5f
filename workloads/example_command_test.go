package workloads_test

import (
	"context"
	"fmt"
	"log"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// A container whose image is a program of this machine: here a shell, and in a test usually the operator that has just been built.
func ExampleCommand() {
	ctx := context.Background()
	c, err := fakecluster.New()
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	w, err := workloads.New(c, workloads.Nodes(1), workloads.Command("greeter", "sh", "-c", `echo "hello $NAME"; exit 3`))
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()

	pods := c.Clientset().CoreV1().Pods("default")
	changes, err := pods.Watch(ctx, metav1.ListOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer changes.Stop()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "greeter"}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Containers:    []corev1.Container{{Name: "greeter", Image: "greeter", Env: []corev1.EnvVar{{Name: "NAME", Value: "world"}}}},
	}}
	if _, err := pods.Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	for change := range changes.ResultChan() {
		if pod, ok := change.Object.(*corev1.Pod); ok && pod.Status.Phase == corev1.PodFailed {
			fmt.Println("exit code", pod.Status.ContainerStatuses[0].State.Terminated.ExitCode)
			break
		}
	}
	text, err := pods.GetLogs("greeter", &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", text)
	// Output:
	// exit code 3
	// hello world
}
