package workloads_test

import (
	"context"
	"fmt"
	"log"
	"testing/fstest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

// An image that is mounted as a volume. Usually its files are in a folder, os.DirFS("testdata/site"), or embedded.
func ExampleImageFiles() {
	c, err := fakecluster.New(fakecluster.InProcess())
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	seen := make(chan string, 1)
	w, err := workloads.New(c, workloads.Nodes(1),
		workloads.ImageFiles("ghcr.io/acme/site", fstest.MapFS{"index.html": {Data: []byte("Welcome!")}}),
		workloads.Image("reader", func(_ context.Context, p *workloads.Container) error {
			page, err := p.ReadFile("/site/index.html")
			seen <- string(page)
			return err
		}))
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()

	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "reader"}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever,
		Volumes:       []corev1.Volume{{Name: "site", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: "ghcr.io/acme/site:2"}}}},
		Containers:    []corev1.Container{{Name: "c", Image: "reader", VolumeMounts: []corev1.VolumeMount{{Name: "site", MountPath: "/site"}}}},
	}}
	if _, err := c.Clientset().CoreV1().Pods("default").Create(context.Background(), pod, metav1.CreateOptions{}); err != nil {
		log.Fatal(err)
	}
	fmt.Println(<-seen)
	// Output: Welcome!
}
