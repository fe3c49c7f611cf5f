package images_test

import (
	"io"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fakecluster/fakecluster/conformance/e2e/images"
	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/workloads"
)

func TestImages(t *testing.T) {
	c := fakecluster.Start(t, fakecluster.InProcess())
	workloads.Run(t, c, append(images.Options(), workloads.Nodes(1), workloads.OnlyKnownImages())...)
	client := kubernetes.NewForConfigOrDie(c.RESTConfig()).CoreV1().Pods("default")
	for _, test := range []struct {
		name, image string
		command     []string
		args        []string
		code        int32
		log         string // part of it
	}{
		{"env", "busybox", []string{"sh", "-c", "env"}, nil, 0, "COLOR=red\n"},
		{"script", "busybox", []string{"sh", "-c", `for i in 1 2; do echo $i >> /f; done; if [ -f /f ]; then cat /f; fi; exit $(echo 3)`}, nil, 3, "1\n2\n"},
		{"programs", "busybox", []string{"sh", "-c", `echo $(expr 7 % 4); id -u; env | grep COLOR; ip link add dummy`}, nil, 2,
			"3\n0\nCOLOR=red\nip: RTNETLINK answers: Operation not permitted\n"},
		{"pipes", "busybox", []string{"sh", "-c", `for i in $(seq 2 3); do echo $i >> /f; done; wc -l /f | awk {'print $1'}; mv /f /dev/ && tail /dev/f`}, nil, 0,
			"2\n'/f' -> '/dev/f'\n2\n3\n"},
		{"fields", "busybox", []string{"sh", "-c", `printf 'a\tb\tc\nd\ne\tf\n' > /f; cat /f | cut -f3; grep Cpus_allowed_list /proc/self/status | cut -f2`}, nil, 0,
			"c\nd\n\n0-7\n"},
		{"missing", "busybox", []string{"sh", "-c", "nothing"}, nil, 127, "sh: nothing: not found\n"},
		{"mounttest", "agnhost", nil, []string{"mounttest", "--new_file_0644=/data/a", "--file_perm=/data/a", "--file_mode=/data"}, 0,
			"content of file \"/data/a\": mount-tester new file\n\nmode of file \"/data\": drwxrwxrwx\nperms of file \"/data/a\": -rw-r--r--\n"},
		{"entrypoint", "agnhost", nil, []string{"entrypoint-tester", "a", "b"}, 0, "[/agnhost entrypoint-tester a b]\n"},
		{"wget", "busybox", []string{"wget", "nobody"}, nil, 1, "Connecting to nobody\nwget: "},
		{"dig", "glibc-dns-testing", []string{"sh", "-c", `
			dig +noall +answer +search kubernetes.default A; dig +tcp +short _https._tcp.kubernetes.default.svc.cluster.local SRV; dig -x 10.0.0.1 +short
			dig @10.0.0.10 -t A nobody | grep -v HEADER`}, nil, 0,
			"kubernetes.default.svc.cluster.local.\t30\tIN\tA\t10.0.0.1\n0 100 443 kubernetes.default.svc.cluster.local.\nkubernetes.default.svc.cluster.local.\n" +
				";; Got answer:\n;; flags: qr rd ra; QUERY: 1, ANSWER: 0, AUTHORITY: 0, ADDITIONAL: 0\n\n;; QUESTION SECTION:\n;nobody.\t\tIN\tA\n\n"},
		{"nslookup", "agnhost", []string{"sh", "-c", "nslookup kubernetes.default && nslookup 10.0.0.1 && nslookup nothing || echo $?"}, nil, 0,
			"Server:\t\t10.0.0.10\nAddress:\t10.0.0.10#53\n\nName:\tkubernetes.default.svc.cluster.local\nAddress: 10.0.0.1\n\n" +
				"Server:\t\t10.0.0.10\nAddress:\t10.0.0.10#53\n\n1.0.0.10.in-addr.arpa\tname = kubernetes.default.svc.cluster.local.\n\n" +
				"Server:\t\t10.0.0.10\nAddress:\t10.0.0.10#53\n\n** server can't find nothing: NXDOMAIN\n\n1\n"},
		{"getent", "agnhost", []string{"sh", "-c", "getent hosts localhost kubernetes.default nothing; echo $?"}, nil, 0,
			"127.0.0.1       localhost\n::1             localhost ip6-localhost ip6-loopback\n10.0.0.1        kubernetes.default.svc.cluster.local\n2\n"},
		{"hexdump", "busybox", []string{"sh", "-c", "printf abc > /f; hexdump -C /f"}, nil, 0, "00000000  61 62 63"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pod, err := client.Create(t.Context(), &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: test.name},
				Spec: corev1.PodSpec{
					RestartPolicy: corev1.RestartPolicyNever,
					Volumes:       []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}},
					Containers: []corev1.Container{{
						Name: "c", Image: "registry.k8s.io/e2e-test-images/" + test.image + ":1", Command: test.command, Args: test.args,
						Env:          []corev1.EnvVar{{Name: "COLOR", Value: "red"}},
						VolumeMounts: []corev1.VolumeMount{{Name: "data", MountPath: "/data"}},
					}},
				},
			}, metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			c.WaitFor(t, pod, fakecluster.CEL(`object.status.phase in ["Succeeded", "Failed"]`))
			if pod, err = client.Get(t.Context(), test.name, metav1.GetOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := pod.Status.ContainerStatuses[0].State.Terminated.ExitCode; got != test.code {
				t.Errorf("the exit code is %d, want %d", got, test.code)
			}
			stream, err := client.GetLogs(test.name, &corev1.PodLogOptions{}).Stream(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			log, err := io.ReadAll(stream)
			if err != nil || !strings.Contains(string(log), test.log) {
				t.Errorf("the log is %q, and lacks %q: %v", log, test.log, err)
			}
		})
	}
}
