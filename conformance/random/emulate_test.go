package main

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"testing"

	"github.com/tidwall/gjson"
	"k8s.io/client-go/rest"
)

// restarted says, in a process that the test has started, that it is to restart itself as one that emulates.
const restarted = "RANDOM_TEST_RESTARTS"

// A process reads the version that fakecluster emulates when it starts, so that the flag starts the program again.
func TestFakeclusterEmulatesTheVersionOfTheFlag(t *testing.T) {
	const version = "1.35"
	if os.Getenv(restarted) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
		again.Env = append(os.Environ(), restarted+"=yes", emulatedVariable+"=")
		output, err := again.CombinedOutput()
		if err != nil {
			t.Errorf("%v\n%s", err, output)
		}
		return
	}
	if err := emulate(version); err != nil {
		t.Fatal(err)
	}
	if got := os.Getenv(emulatedVariable); got != version {
		t.Fatalf("%s is %q, want %q", emulatedVariable, got, version)
	}
	cluster, err := startOurs()
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	config := cluster.RESTConfig()
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(newRequest(t, config.Host+"/version"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got := gjson.GetBytes(body, "emulationMajor").Str + "." + gjson.GetBytes(body, "emulationMinor").Str; got != version {
		t.Errorf("fakecluster emulates %s, want %s\n%s", got, version, body)
	}
}

func newRequest(t *testing.T, url string) *http.Request {
	request, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	return request
}
