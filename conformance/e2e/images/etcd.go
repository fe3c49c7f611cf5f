package images

import (
	"context"
	"flag"
	"net/url"
	"os"
	"strings"

	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/fakecluster/fakecluster/workloads"
)

// etcd runs etcd with one member, which listens at a port of the machine. The addresses that the container is to listen at lead there.
func etcd(ctx context.Context, c *workloads.ExecCommand) error {
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	flags.SetOutput(c.Stderr)
	listen := flags.String("listen-client-urls", "http://localhost:2379", "")
	flags.String("advertise-client-urls", "", "")
	if err := flags.Parse(c.Args[1:]); err != nil {
		return workloads.Exit(2)
	}
	dir, err := os.MkdirTemp("", "fakecluster-etcd-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	config := embed.NewConfig()
	anyPort := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.Dir, config.UnsafeNoFsync = dir, true
	config.ListenClientUrls, config.AdvertiseClientUrls = anyPort, anyPort
	config.ListenPeerUrls, config.AdvertisePeerUrls = anyPort, anyPort
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.New(zapcore.NewCore(
		zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(c.Stderr), zap.InfoLevel)))
	server, err := embed.StartEtcd(config)
	if err != nil {
		return err
	}
	defer server.Close()
	select {
	case <-server.Server.ReadyNotify():
	case err := <-server.Err():
		return err
	case <-ctx.Done():
		return nil
	}
	for address := range strings.SplitSeq(*listen, ",") {
		parsed, err := url.Parse(address)
		if err != nil {
			return err
		}
		l, err := c.Container.Listen("tcp", parsed.Host)
		if err != nil {
			return err
		}
		defer forward(l, toMachine(server.Clients[0].Addr()))()
	}
	select {
	case err := <-server.Err():
		return err
	case <-ctx.Done():
		return nil
	}
}
