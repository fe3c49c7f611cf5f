package bubble

import "strings"

// mistakes has the usual reasons why the time of a bubble stands still. The first entry whose text is in the stack of
// the blocked goroutine applies.
var mistakes = []struct{ stack, mistake string }{
	{"controller-runtime/pkg/metrics/server.", `a manager serves metrics on a socket: write ctrl.Options{Metrics: metricsserver.Options{BindAddress: "0"}}`},
	{"controller-runtime/pkg/webhook.", "a manager serves webhooks on a socket: give it a webhook server that does not listen, and its handler to c.ServeWebhooks, as docs/remote.md shows"},
	{"controller-runtime/pkg/manager.(*Server)", `a manager serves health probes or profiles on a socket: write ctrl.Options{HealthProbeBindAddress: "0", PprofBindAddress: "0"}`},
	{"[sync.WaitGroup", "a goroutine waits for a WaitGroup that belongs to no bubble, because it is a package variable or was created outside: create it in the function of synctest.Test"},
	{"[sync.", "a goroutine waits for a lock, and no running goroutine can release it. Time passes only when all goroutines of the bubble wait for channels, timers and the like: " +
		"do not hold a lock while you sleep or wait for a request, such as one that calls a function of the test"},
	{"os.(*Process).", "a goroutine waits for another process, which has real time: run it before synctest.Test"},
	{"[syscall", "a goroutine waits in a call of the operating system: do that before synctest.Test"},
	{"net/http.(*persistConn)", ownConnection + ". " +
		"If it is a server of the test, such as one of httptest: start it before synctest.Test, and give the client a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}"},
	{"http2ClientConn)", ownConnection},
	{"http2.(*ClientConn)", ownConnection},
	{").Accept(", "a server listens on a socket: start it before synctest.Test, and give its clients a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}"},
	{"internal/poll.", "a goroutine uses a socket or a pipe: open it before synctest.Test, and use it there"},
	{"[chan ", "a goroutine waits for a channel that was created outside of the bubble: create it in the function of synctest.Test"},
	{"[select", "a goroutine waits for a channel that was created outside of the bubble, such as that of a context of the outer test: create it in the function of synctest.Test"},
}

const ownConnection = "an HTTP client has a connection to a server. If that is the cluster, write c := base.Fork(t) in the bubble, unless the cluster was started there, " +
	"and give the client the transport of c: &rest.Config{Host: c.URL(), BearerToken: c.Token(), Transport: c.Transport(), QPS: -1}"

// Mistake returns a sentence with the reason why time stands still, and what to write instead.
func (b Blocked) Mistake() string {
	const still = "time in the synctest bubble stands still, because "
	for _, m := range mistakes {
		if strings.Contains(b.Stack, m.stack) {
			return still + m.mistake
		}
	}
	return still + "a goroutine waits for something outside of the bubble: create everything that it waits for in the function of synctest.Test"
}
