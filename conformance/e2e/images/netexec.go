package images

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/util/cert"

	"github.com/fakecluster/fakecluster/workloads"
)

// netexec answers HTTP requests and UDP packets that say what it has to do. It does not serve SCTP.
func netexec(ctx context.Context, c *workloads.ExecCommand) error {
	n := &netexecServer{Container: c.Container, port: 8080}
	var certificate, key, override string
	var addresses string
	var delay, packets int
	if _, err := flagsOf(c, func(f *flag.FlagSet) {
		f.IntVar(&n.port, "http-port", n.port, "")
		f.StringVar(&certificate, "tls-cert-file", "", "")
		f.StringVar(&key, "tls-private-key-file", "", "")
		f.StringVar(&override, "http-override", "", "")
		f.IntVar(&delay, "delay-shutdown", 0, "")
		f.IntVar(&packets, "udp-port", 8081, "")
		f.Int("sctp-port", -1, "")
		f.StringVar(&addresses, "udp-listen-addresses", "", "")
	}); err != nil {
		return err
	}
	l, err := c.Container.Listen("tcp", ":"+strconv.Itoa(n.port))
	if err != nil {
		return err
	}
	if packets != -1 {
		listened := map[string]bool{} // an address may be named twice
		for _, address := range strings.Split(addresses, ",") {
			if listened[address] {
				continue
			}
			listened[address] = true
			if err := n.answerPackets(net.JoinHostPort(address, strconv.Itoa(packets)), packets); err != nil {
				return err
			}
		}
	}
	n.terminating = ctx.Done()
	serving, exit := context.WithCancelCause(context.WithoutCancel(ctx))
	defer exit(nil)
	n.exit = exit
	stop := context.AfterFunc(ctx, func() {
		time.Sleep(time.Duration(delay) * time.Second)
		exit(nil)
	})
	defer stop()
	routes := n.routes()
	handler := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintln(c.Stderr, r.Method, r.URL.RequestURI())
		routes.ServeHTTP(w, r)
	}))
	if override != "" {
		handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r, err := http.NewRequestWithContext(r.Context(), http.MethodGet, override, nil)
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			routes.ServeHTTP(w, r)
		})
	}
	s := &http.Server{Handler: handler}
	if certificate != "" {
		if s.TLSConfig, err = tlsOf(c.Container, certificate, key); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.Stderr, "Started HTTP server on port %d\n", n.port)
	if err := serveOn(serving, l, s); err != nil {
		return err
	}
	if cause := context.Cause(serving); cause != context.Canceled {
		return cause
	}
	return nil
}

// tlsOf returns the configuration of a server with a certificate in files of the container. agnhost has one for localhost.
func tlsOf(c *workloads.Container, certificate, key string) (*tls.Config, error) {
	if certificate == "/localhost.crt" && key == "/localhost.key" {
		pem, private, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(pem, private)
		return &tls.Config{Certificates: []tls.Certificate{pair}}, err
	}
	pem, err := c.ReadFile(certificate)
	if err != nil {
		return nil, err
	}
	private, err := c.ReadFile(key)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(pem, private)
	return &tls.Config{Certificates: []tls.Certificate{pair}}, err
}

type netexecServer struct {
	*workloads.Container
	port        int
	terminating <-chan struct{}
	exit        context.CancelCauseFunc
}

func (n *netexecServer) routes() http.Handler {
	mux := http.NewServeMux()
	answer := func(path string, text func(r *http.Request) string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, text(r)) })
	}
	answer("/", func(*http.Request) string { return fmt.Sprintf("NOW: %v", time.Now()) })
	answer("/clientip", func(r *http.Request) string { return r.RemoteAddr })
	answer("/serverport", func(*http.Request) string { return strconv.Itoa(n.port) })
	answer("/hostname", func(*http.Request) string { return n.Hostname })
	answer("/hostName", func(*http.Request) string { return n.Hostname })
	answer("/healthz", func(*http.Request) string { return "" })
	answer("/header", func(r *http.Request) string {
		if key := r.FormValue("key"); key != "" {
			return r.Header.Get(key)
		}
		return asJSON(r.Header)
	})
	mux.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		if code, err := strconv.Atoi(r.FormValue("code")); err == nil {
			w.WriteHeader(code)
		}
		fmt.Fprint(w, r.FormValue("msg"))
	})
	mux.HandleFunc("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		select {
		case <-n.terminating:
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprint(w, "shutting down")
		default:
			fmt.Fprint(w, "ok")
		}
	})
	mux.HandleFunc("/envvar", func(w http.ResponseWriter, r *http.Request) {
		value, set := n.LookupEnv(r.FormValue("var"))
		if !set {
			http.Error(w, fmt.Sprintf("env var %q is not set", r.FormValue("var")), http.StatusInternalServerError)
			return
		}
		fmt.Fprint(w, value)
	})
	mux.HandleFunc("/redirect", func(w http.ResponseWriter, r *http.Request) {
		code, err := strconv.Atoi(r.FormValue("code"))
		if err != nil {
			code = http.StatusFound
		}
		http.Redirect(w, r, r.FormValue("location"), code)
	})
	mux.HandleFunc("/dial", n.dial)
	mux.HandleFunc("/shell", n.shell)
	mux.HandleFunc("/shutdown", func(http.ResponseWriter, *http.Request) { n.exit(workloads.Exit(0)) })
	mux.HandleFunc("/exit", func(_ http.ResponseWriter, r *http.Request) {
		wait, _ := time.ParseDuration(r.FormValue("wait"))
		time.Sleep(wait)
		code, _ := strconv.Atoi(r.FormValue("code"))
		n.exit(workloads.Exit(code))
	})
	return mux
}

// dial sends requests to other Pods, and answers with their answers.
func (n *netexecServer) dial(w http.ResponseWriter, r *http.Request) {
	tries, err := strconv.Atoi(r.FormValue("tries"))
	if err != nil {
		tries = 1
	}
	client := n.HTTPClient()
	client.Timeout = 5 * time.Second
	defer client.CloseIdleConnections()
	address, request := net.JoinHostPort(r.FormValue("host"), r.FormValue("port")), r.FormValue("request")
	ask := func() (string, error) { return get(r.Context(), client, "http://"+address+"/"+request) }
	switch protocol := r.FormValue("protocol"); protocol {
	case "", "http":
	case "udp":
		ask = func() (string, error) { return n.askByPacket(r.Context(), address, request) }
	default:
		http.Error(w, "unsupported protocol. "+protocol, http.StatusBadRequest)
		return
	}
	output := map[string][]string{}
	for range tries {
		text, err := ask()
		if err != nil {
			output["errors"] = append(output["errors"], err.Error())
		} else {
			output["responses"] = append(output["responses"], text)
		}
	}
	fmt.Fprint(w, asJSON(output))
}

// answerPackets answers UDP packets at an address until the container ends.
func (n *netexecServer) answerPackets(address string, port int) error {
	socket, err := n.ListenPacket("udp", address)
	if err != nil {
		return err
	}
	go func() {
		buffer := make([]byte, 2048)
		for {
			size, from, err := socket.ReadFrom(buffer)
			if err != nil {
				return
			}
			if answer, known := n.answerTo(strings.TrimSpace(string(buffer[:size])), from, port); known {
				_, _ = socket.WriteTo([]byte(answer), from)
			}
		}
	}()
	return nil
}

// answerTo returns the answer to a UDP packet.
func (n *netexecServer) answerTo(text string, from net.Addr, port int) (answer string, known bool) {
	command, argument, _ := strings.Cut(text, " ")
	switch strings.ToLower(command) {
	case "hostname":
		return n.Hostname, true
	case "echo":
		return strings.ToLower(argument), true
	case "envvar":
		return n.Getenv(strings.TrimSpace(argument)), true
	case "clientip":
		return from.String(), true
	case "serverport":
		return strconv.Itoa(port), true
	}
	return "", false
}

// askByPacket sends a UDP packet, and returns the answer.
func (n *netexecServer) askByPacket(ctx context.Context, address, request string) (string, error) {
	conn, err := n.Dial(ctx, "udp", address)
	if err != nil {
		return "", fmt.Errorf("udp dial failed. err:%w", err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte(request)); err != nil {
		return "", fmt.Errorf("udp connection write failed. err:%w", err)
	}
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	answer := make([]byte, 2048)
	size, err := conn.Read(answer)
	if err != nil {
		return "", fmt.Errorf("reading from udp connection failed. err:'%w'", err)
	}
	return string(answer[:size]), nil
}

func get(ctx context.Context, client *http.Client, url string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", err
	}
	response, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), err
}

func (n *netexecServer) shell(w http.ResponseWriter, r *http.Request) {
	command := r.FormValue("shellCommand") + r.FormValue("cmd")
	var out bytes.Buffer
	code, err := n.Exec(r.Context(), []string{"sh", "-c", command}, nil, &out, &out)
	answer := map[string]string{}
	if out.Len() > 0 {
		answer["output"] = out.String()
	}
	if err != nil {
		answer["error"] = err.Error()
	} else if code != 0 {
		answer["error"] = fmt.Sprintf("exit status %d", code)
	}
	fmt.Fprint(w, asJSON(answer))
}

func asJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // strings alone
	}
	return string(text)
}
