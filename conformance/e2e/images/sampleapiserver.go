package images

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/server/egressselector"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	basecompatibility "k8s.io/component-base/compatibility"
	baseversion "k8s.io/component-base/version"
	"k8s.io/sample-apiserver/pkg/cmd/server"

	"github.com/fakecluster/fakecluster/workloads"
)

// sampleAPIServer runs k8s.io/sample-apiserver, which has sockets of the machine: the port 443 of the container leads to one, and another one to the
// API server. Etcd is reached through the network of the Pod.
func sampleAPIServer(ctx context.Context, c *workloads.ExecCommand) error {
	own, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer own.Close()
	port, err := c.Container.Listen("tcp", ":443")
	if err != nil {
		return err
	}
	defer forward(port, toMachine(own.Addr()))()
	cluster, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer forward(cluster, func(ctx context.Context) (net.Conn, error) {
		return c.Container.Dial(ctx, "tcp", "kubernetes.default.svc:443")
	})()
	work, err := os.MkdirTemp("", "fakecluster-sample-apiserver-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	kubeconfig := filepath.Join(work, "kubeconfig")
	if err := writeKubeconfig(c.Container, kubeconfig, "https://"+cluster.Addr().String()); err != nil {
		return err
	}
	o := server.NewWardleServerOptions(c.Stdout, c.Stderr)
	o.ComponentGlobalsRegistry = basecompatibility.NewComponentGlobalsRegistry() // the other one is that of the process
	if err := o.ComponentGlobalsRegistry.Register(basecompatibility.DefaultKubeComponent,
		basecompatibility.NewEffectiveVersionFromString(baseversion.DefaultKubeBinaryVersion, "", ""), utilfeature.DefaultMutableFeatureGate.DeepCopy()); err != nil {
		return err
	}
	r := o.RecommendedOptions
	r.SecureServing.Listener = own
	r.CoreAPI.CoreAPIKubeconfigPath, r.Authentication.RemoteKubeConfigFile, r.Authorization.RemoteKubeConfigFile = kubeconfig, kubeconfig, kubeconfig
	r.Etcd.StorageConfig.Transport.EgressLookup = func(egressselector.NetworkContext) (utilnet.DialFunc, error) { return c.Container.Dial, nil }
	cmd := server.NewCommandStartWardleServer(ctx, o, false)
	var args []string
	for _, arg := range c.Args[1:] {
		if arg, err = onDisk(c.Container, arg); err != nil {
			return err
		}
		args = append(args, arg)
	}
	cmd.SetArgs(args)
	cmd.SetOut(c.Stdout)
	cmd.SetErr(c.Stderr)
	cmd.SilenceUsage = true
	return cmd.ExecuteContext(ctx)
}

// onDisk returns an argument such as --tls-cert-file=/certificates/tls.crt with the path on disk, if it is one in a volume.
func onDisk(c *workloads.Container, arg string) (string, error) {
	name, value, _ := strings.Cut(arg, "=")
	for _, spec := range c.Pod.Spec.Containers {
		if spec.Name != c.Name {
			continue
		}
		for _, m := range spec.VolumeMounts {
			if rest, ok := strings.CutPrefix(value, m.MountPath); ok {
				folder, err := c.Folder(m.MountPath)
				return name + "=" + folder + rest, err
			}
		}
	}
	return arg, nil
}

// writeKubeconfig writes a kubeconfig with the ServiceAccount of the Pod, for an address that leads to the API server.
func writeKubeconfig(c *workloads.Container, path, address string) error {
	account, err := c.Folder(accountFolder)
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["cluster"] = &clientcmdapi.Cluster{Server: address, CertificateAuthority: account + "/ca.crt", TLSServerName: "kubernetes.default.svc"}
	config.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: account + "/token"}
	config.Contexts["pod"] = &clientcmdapi.Context{Cluster: "cluster", AuthInfo: "pod", Namespace: c.Pod.Namespace}
	config.CurrentContext = "pod"
	return clientcmd.WriteToFile(*config, path)
}
