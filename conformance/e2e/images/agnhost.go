package images

import (
	"context"
	"crypto/tls"
	"flag"
	"fmt"
	"net"
	"net/http"
	"path"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"k8s.io/client-go/util/cert"

	"github.com/fakecluster/fakecluster/workloads"
)

// subcommands are those of agnhost that specs use.
var subcommands = map[string]program{
	"connect":                               connect,
	"crd-conversion-webhook":                conversionWebhook,
	"dns-server-list":                       resolver("nameserver"),
	"dns-suffix":                            resolver("search"),
	"entrypoint-tester":                     entrypointTester,
	"etc-hosts":                             etcHosts,
	"grpc-health-checking":                  healthChecking,
	"guestbook":                             guestbook,
	"liveness":                              liveness,
	"logs-generator":                        logsGenerator,
	"mounttest":                             mounttest,
	"mtlsclient":                            mtlsClient,
	"mtlsserver":                            mtlsServer,
	"netexec":                               netexec,
	"nettest":                               nettest,
	"pause":                                 pause,
	"port-forward-tester":                   portForwardTester,
	"porter":                                porter,
	"serve-hostname":                        serveHostname,
	"test-service-account-issuer-discovery": issuerDiscovery,
	"test-webserver":                        testWebserver,
	"webhook":                               webhook,
}

func agnhost(ctx context.Context, c *workloads.ExecCommand) error {
	if len(c.Args) < 2 {
		fmt.Fprintln(c.Stderr, "agnhost needs a subcommand")
		return workloads.Exit(1)
	}
	run := subcommands[c.Args[1]]
	if run == nil {
		fmt.Fprintf(c.Stderr, "unknown command %q for \"app\"\n", c.Args[1])
		return workloads.Exit(1)
	}
	return run(ctx, c)
}

// flagsOf parses the arguments after the subcommand, and returns those that are not flags.
func flagsOf(c *workloads.ExecCommand, define func(*flag.FlagSet)) ([]string, error) {
	flags := flag.NewFlagSet(c.Args[1], flag.ContinueOnError)
	flags.SetOutput(c.Stderr)
	define(flags)
	if err := flags.Parse(c.Args[2:]); err != nil {
		return nil, workloads.Exit(1)
	}
	return flags.Args(), nil
}

// serve serves HTTP on a port of the Pod until ctx ends.
func serve(ctx context.Context, c *workloads.Container, port int, handler http.Handler) error {
	l, err := c.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return err
	}
	return serveOn(ctx, l, &http.Server{Handler: handler})
}

func serveOn(ctx context.Context, l net.Listener, s *http.Server) error {
	stop := context.AfterFunc(ctx, func() { _ = s.Close() })
	defer stop()
	var err error
	if s.TLSConfig != nil {
		err = s.ServeTLS(l, "", "")
	} else {
		err = s.Serve(l)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// entrypointTester prints its command line.
func entrypointTester(_ context.Context, c *workloads.ExecCommand) error {
	fmt.Fprintln(c.Stdout, c.Args)
	return nil
}

// etcHosts prints the names that the kubelet has written.
func etcHosts(_ context.Context, c *workloads.ExecCommand) error {
	hosts, err := c.Container.ReadFile("/etc/hosts")
	if err != nil {
		return err
	}
	_, err = c.Stdout.Write(hosts)
	return err
}

// resolver prints what a line of /etc/resolv.conf has.
func resolver(keyword string) program {
	return func(_ context.Context, c *workloads.ExecCommand) error {
		content, err := c.Container.ReadFile("/etc/resolv.conf")
		if err != nil {
			return err
		}
		var addresses []string
		for line := range strings.Lines(string(content)) {
			if fields := strings.Fields(line); len(fields) > 1 && fields[0] == keyword {
				addresses = append(addresses, fields[1:]...)
			}
		}
		fmt.Fprintln(c.Stdout, strings.Join(addresses, ","))
		return nil
	}
}

// healthChecking serves the health service of gRPC, which becomes unhealthy after a while.
func healthChecking(ctx context.Context, c *workloads.ExecCommand) error {
	port, delay := 5000, 0
	if _, err := flagsOf(c, func(f *flag.FlagSet) {
		f.IntVar(&port, "port", port, "")
		f.Int("http-port", 8080, "")
		f.String("service", "", "")
		f.IntVar(&delay, "delay-unhealthy-sec", -1, "")
	}); err != nil {
		return err
	}
	l, err := c.Container.Listen("tcp", ":"+strconv.Itoa(port))
	if err != nil {
		return err
	}
	checked, server := health.NewServer(), grpc.NewServer()
	healthpb.RegisterHealthServer(server, checked)
	if delay >= 0 {
		timer := time.AfterFunc(time.Duration(delay)*time.Second, func() {
			checked.SetServingStatus("", healthpb.HealthCheckResponse_NOT_SERVING)
		})
		defer timer.Stop()
	}
	stop := context.AfterFunc(ctx, server.Stop)
	defer stop()
	return server.Serve(l)
}

// liveness is healthy for ten seconds.
func liveness(ctx context.Context, c *workloads.ExecCommand) error {
	began := time.Now()
	mux := http.NewServeMux()
	mux.HandleFunc("/started", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, time.Since(began)) })
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) {
		if age := time.Since(began).Seconds(); age > 10 {
			http.Error(w, fmt.Sprintf("error: %v", age), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, "ok")
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, r.URL.Query().Get("loc"), http.StatusFound)
	})
	return serve(ctx, c.Container, 8080, mux)
}

// logsGenerator prints lines at a pace.
func logsGenerator(ctx context.Context, c *workloads.ExecCommand) error {
	var lines int
	var duration time.Duration
	if _, err := flagsOf(c, func(f *flag.FlagSet) {
		f.IntVar(&lines, "log-lines-total", 0, "")
		f.DurationVar(&duration, "run-duration", 0, "")
	}); err != nil {
		return err
	}
	for i := range lines {
		fmt.Fprintf(c.Stdout, "%d POST /api/v1/namespaces/%s/pods/generated %d\n", i, []string{"kube-system", "default", "ns"}[i%3], 200+i%300)
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(duration / time.Duration(lines)):
		}
	}
	return nil
}

// serveHostname answers with the name of its Pod.
func serveHostname(ctx context.Context, c *workloads.ExecCommand) error {
	port, packets := 9376, false
	if _, err := flagsOf(c, func(f *flag.FlagSet) {
		f.IntVar(&port, "port", port, "")
		f.Bool("http", true, "")
		f.Bool("tcp", false, "")
		f.BoolVar(&packets, "udp", false, "")
		f.Bool("close", false, "")
	}); err != nil {
		return err
	}
	if packets {
		socket, err := c.Container.ListenPacket("udp", ":"+strconv.Itoa(port))
		if err != nil {
			return err
		}
		go func() {
			buffer := make([]byte, 2048)
			for {
				_, from, err := socket.ReadFrom(buffer)
				if err != nil {
					return
				}
				_, _ = socket.WriteTo([]byte(c.Container.Hostname), from)
			}
		}()
	}
	fmt.Fprintf(c.Stderr, "Serving on port %d.\n", port)
	return serve(ctx, c.Container, port, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, c.Container.Hostname)
	}))
}

// testWebserver serves the files of its container.
func testWebserver(ctx context.Context, c *workloads.ExecCommand) error {
	port := 80
	if _, err := flagsOf(c, func(f *flag.FlagSet) { f.IntVar(&port, "port", port, "") }); err != nil {
		return err
	}
	return serve(ctx, c.Container, port, http.FileServerFS(c.Container.FS()))
}

// porter answers with the value of SERVE_PORT_n, or SERVE_TLS_PORT_n, on each port n.
func porter(ctx context.Context, c *workloads.ExecCommand) error {
	inJSON := false
	if _, err := flagsOf(c, func(f *flag.FlagSet) { f.BoolVar(&inJSON, "json-response", false, "") }); err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	n := 0
	for _, variable := range c.Container.Environment {
		name, value, _ := strings.Cut(variable, "=")
		port, plain := strings.CutPrefix(name, "SERVE_PORT_")
		var config *tls.Config
		if !plain {
			var encrypted bool
			if port, encrypted = strings.CutPrefix(name, "SERVE_TLS_PORT_"); !encrypted {
				continue
			}
			certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
			if err != nil {
				return err
			}
			pair, err := tls.X509KeyPair(certificate, key)
			if err != nil {
				return err
			}
			config = &tls.Config{Certificates: []tls.Certificate{pair}}
		}
		l, err := c.Container.Listen("tcp", ":"+port)
		if err != nil {
			return err
		}
		n++
		go func() {
			cancel(serveOn(ctx, l, &http.Server{TLSConfig: config, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if inJSON {
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprint(w, asJSON(map[string]string{"Method": r.Method, "Body": value}))
					return
				}
				fmt.Fprint(w, value)
			})}))
		}()
	}
	if n == 0 {
		fmt.Fprintln(c.Stderr, "no variable SERVE_PORT_n is set")
		return workloads.Exit(1)
	}
	<-ctx.Done()
	return nil
}

// connect connects to an address.
func connect(ctx context.Context, c *workloads.ExecCommand) error {
	timeout, protocol := time.Duration(0), "tcp"
	args, err := flagsOf(c, func(f *flag.FlagSet) {
		f.DurationVar(&timeout, "timeout", timeout, "")
		f.StringVar(&protocol, "protocol", protocol, "")
	})
	if err != nil {
		return err
	}
	if len(args) != 1 {
		fmt.Fprintln(c.Stderr, "connect needs one address")
		return workloads.Exit(1)
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	conn, err := c.Container.Dial(ctx, protocol, args[0])
	if err != nil {
		fmt.Fprintln(c.Stderr, "REFUSED")
		return workloads.Exit(1)
	}
	return conn.Close()
}

// httpd serves the files of a folder, which specs take away.
func httpd(ctx context.Context, c *workloads.ExecCommand) error {
	const folder = "/usr/local/apache2/htdocs"
	if err := c.Container.WriteFile(folder+"/index.html", []byte("<html><body><h1>It works!</h1></body></html>\n"), 0o644); err != nil {
		return err
	}
	return serve(ctx, c.Container, 80, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := r.URL.Path
		if strings.HasSuffix(name, "/") {
			name += "index.html"
		}
		content, err := c.Container.ReadFile(folder + path.Clean(name))
		if err != nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(content)
	}))
}

// nautilus serves a part of the demonstration of rolling updates.
func nautilus(ctx context.Context, c *workloads.ExecCommand) error {
	mux := http.NewServeMux()
	mux.HandleFunc("/data.json", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"image": "nautilus.jpg"}`) })
	return serve(ctx, c.Container, 80, mux)
}

func nginx(ctx context.Context, c *workloads.ExecCommand) error {
	return serve(ctx, c.Container, 80, page("<html><head><title>Welcome to nginx!</title></head></html>\n"))
}

func page(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/" && r.URL.Path != "/index.html" {
			http.NotFound(w, r)
			return
		}
		fmt.Fprint(w, text)
	})
}
