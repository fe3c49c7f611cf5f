package bubble

import "strings"

// mistakes has the usual reasons why the time of a bubble stands still. The first entry whose text is in the stack of
// the blocked goroutine applies.
var mistakes = []struct{ stack, mistake string }{
	{"controller-runtime/pkg/metrics/server.",
		"a manager serves metrics on a socket: write ctrl.Options{Metrics: metricsserver.Options{BindAddress: \"0\"}}"},
	{"controller-runtime/pkg/webhook.",
		"a manager serves webhooks on a socket: run it with controllerruntime.Run and fakecluster.WithWebhookPaths(folder), or write fakecluster.WithService(namespace, name, 443, mgr.GetWebhookServer().WebhookMux()) and replace the server by one whose Start waits for its context"},
	{"controller-runtime/pkg/manager.(*Server)",
		"a manager serves health probes or profiles on a socket: write ctrl.Options{HealthProbeBindAddress: \"0\", PprofBindAddress: \"0\"}"},
	{"[sync.WaitGroup", "a goroutine waits for a WaitGroup that belongs to no bubble, because it is a package variable or was created outside: create it in the function of synctest.Test"},
	{"[sync.", "a goroutine waits for a lock, and no running goroutine can release it. Time passes only when all goroutines of the bubble wait for channels, timers and the like: " +
		"do not hold a lock while you sleep or wait for a request, such as one that calls a function of the test"},
	{"os.(*Process).", "a goroutine waits for another process, which has real time: run it before synctest.Test"},
	{"[syscall", "a goroutine waits in a call of the operating system: do that before synctest.Test"},
	{"net/http.(*persistConn)",
		"an HTTP client has a connection to a server%s. If that is the cluster, write fakecluster.Start(t, fakecluster.InProcess()) in the bubble, and use its RESTConfig(). " +
			"If it is a server of the test, such as one of httptest: start it before synctest.Test, and give the client a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}; " +
			"or serve its handler with fakecluster.WithService"},
	{"net/http/httptest.", "a server of httptest listens on a socket: start it before synctest.Test, and give its clients a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}; " +
		"or serve its handler with fakecluster.WithService"},
	{"net/http.(*conn).serve(", "a server has a connection%s. If it is one of the test, such as one of httptest: start it before synctest.Test, and give its clients a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}; " +
		"or serve its handler with fakecluster.WithService"},
	{").Accept(",
		"a server listens on a socket: start it before synctest.Test, and give its clients a transport that keeps no connection, &http.Transport{DisableKeepAlives: true}; " +
			"or serve its handler with fakecluster.WithService"},
	{"internal/poll.",
		"a goroutine uses a socket or a pipe: open it before synctest.Test, and use it there"},
	{"[chan ", "a goroutine waits for a channel that was created outside of the bubble: create it in the function of synctest.Test"},
	{"[select", "a goroutine waits for a channel that was created outside of the bubble: create it in the function of synctest.Test"},
}

// Mistake returns a sentence with the reason why time stands still, and what to write instead.
func (b Blocked) Mistake() string {
	if b.Reason != "" {
		return b.Reason
	}
	const still = "time in the synctest bubble stands still, because "
	for _, m := range mistakes {
		if strings.Contains(b.Stack, m.stack) {
			return still + strings.Replace(m.mistake, "%s", peers(), 1)
		}
	}
	return still + "a goroutine waits for something outside of the bubble: create everything that it waits for in the function of synctest.Test"
}
