package bubble

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"runtime"
	"strings"
	"testing"
)

// Goroutines of the standard library have the names by which usual mistakes are found.
func TestStacksHaveTheNamesOfUsualMistakes(t *testing.T) {
	called, end := make(chan bool), make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		called <- true
		<-end
	}))
	defer server.Close()
	client := server.Client()
	ended := make(chan error, 2)
	go func() {
		answer, err := client.Get(server.URL)
		if err == nil {
			_ = answer.Body.Close()
		}
		ended <- err
	}()
	<-called
	cmd := exec.Command("cat")
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Skip(err)
	}
	go func() { ended <- cmd.Wait() }()
	text := make([]byte, 1<<20)
	var names []string
	for _, m := range mistakes {
		if !strings.HasPrefix(m.stack, "controller-runtime/") && !strings.HasPrefix(m.stack, "[") {
			names = append(names, m.stack)
		}
	}
	for range 1000 { // until all of them wait
		stacks := string(text[:runtime.Stack(text, true)])
		missing := names[:0:0]
		for _, name := range names {
			if !strings.Contains(stacks, name) {
				missing = append(missing, name)
			}
		}
		if names = missing; len(names) == 0 {
			break
		}
		runtime.Gosched()
	}
	if len(names) > 0 {
		t.Errorf("no goroutine has %q in its stack", names)
	}
	close(end)
	_ = input.Close()
	for range 2 {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	client.CloseIdleConnections()
}
