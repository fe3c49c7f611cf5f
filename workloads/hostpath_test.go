package workloads_test

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fakecluster/fakecluster/workloads"
)

// TestHostPathsShowTheFilesOfTheNode proves that pods of a node see the same files by all paths, and its /etc/hosts.
func TestHostPathsShowTheFilesOfTheNode(t *testing.T) {
	inBubble(t, func(w world) {
		w.create(`
apiVersion: v1
kind: Pod
metadata: {name: writer}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: writer, volumeMounts: [{name: var, mountPath: /node/var}, {name: new, mountPath: /new}]}]
  volumes: [{name: var, hostPath: {path: /var}}, {name: new, hostPath: {path: /var/new, type: FileOrCreate}}]
---
apiVersion: v1
kind: Pod
metadata: {name: reader}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: reader, args: [/lib/a, /part/a, /new, /hosts], volumeMounts: [
    {name: lib, mountPath: /lib}, {name: lib, mountPath: /part, subPath: deep}, {name: new, mountPath: /new}, {name: hosts, mountPath: /hosts}]}]
  volumes: [{name: lib, hostPath: {path: /var/lib/, type: Directory}}, {name: new, hostPath: {path: /var/new, type: File}}, {name: hosts, hostPath: {path: /etc/hosts}}]
---
apiVersion: v1
kind: Pod
metadata: {name: own}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: app, image: reader, args: [/etc/hosts], volumeMounts: [{name: hosts, mountPath: /etc/hosts}]}]
  volumes: [{name: hosts, hostPath: {path: /etc/hosts, type: File}}]
`)
		const hosts = "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\nfe00::\tip6-localnet\nff00::\tip6-mcastprefix\n" +
			"ff02::1\tip6-allnodes\nff02::2\tip6-allrouters\n172.18.0.2\tn1\n"
		equal(t, "what the other pod sees", w.log("reader", corev1.PodLogOptions{}), "/lib/a: in lib\n/part/a: deep\n/new: \n/hosts: "+hosts+"\n")
		equal(t, "/etc/hosts that a pod mounts", w.log("own", corev1.PodLogOptions{}), "/etc/hosts: "+hosts+"\n")

		for i, test := range []struct{ path, kind, want string }{
			{"/var/other", "File", "hostPath type check failed, /var/other is not a file, unable to determine its type: path \"/var/other\" does not exist"},
			{"/var/lib", "FileOrCreate", "hostPath type check failed: /var/lib is not a file, it's a Directory"},
			{"/etc/hosts", "DirectoryOrCreate", "hostPath type check failed: /etc/hosts is not a directory, it's a File"},
		} {
			name := fmt.Sprint("failing-", i)
			w.create(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  containers: [{name: app, image: reader, volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, hostPath: {path: %s, type: %s}}]
`, name, test.path, test.kind))
			if got, want := w.events(name), `FailedMount: MountVolume.SetUp failed for volume "v" : `+test.want; !slices.Contains(got, want) {
				t.Errorf("the events are\n%s\nwithout\n%s", strings.Join(got, "\n"), want)
			}
		}
	}, workloads.Nodes(1), workloads.Image("writer", func(ctx context.Context, c *workloads.Container) error {
		for name, text := range map[string]string{"/node/var/lib/a": "in lib", "/node/var/lib/deep/a": "deep"} {
			if err := c.WriteFile(name, []byte(text), 0o644); err != nil {
				return err
			}
		}
		<-ctx.Done()
		return nil
	}), workloads.Image("reader", func(ctx context.Context, c *workloads.Container) error {
		for _, name := range c.Args {
			content, err := fs.ReadFile(c.FS(), strings.TrimPrefix(name, "/"))
			if err != nil {
				return err
			}
			fmt.Fprintf(c.Stdout, "%s: %s\n", name, content)
		}
		<-ctx.Done()
		return nil
	}))
}
