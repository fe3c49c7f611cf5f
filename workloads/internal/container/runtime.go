package container

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"sync"
	"time"

	clientrest "k8s.io/client-go/rest"

	"github.com/fakecluster/fakecluster/internal/description/living"
	"github.com/fakecluster/fakecluster/workloads/internal/cri"
)

// Function is the program of an image. Its error determines the exit code: see package container.
type Function func(ctx context.Context, c *Container) error

// Image is an image whose program is a function or a program of the system.
type Image struct {
	Name    string // a pattern of path.Match, with or without a tag
	Run     Function
	Program *Program
}

// Config configures NewRuntime.
type Config struct {
	Images []Image
	// RESTConfig returns a configuration for a client with a token.
	RESTConfig func(token string) *clientrest.Config
	// Kubeconfig returns a kubeconfig file of the cluster, for programs.
	Kubeconfig func() ([]byte, error)
	// Report is called, on any goroutine, with an error about a function that goes on after SIGKILL.
	Report func(error)
	// Log is called at the end with sentences for the log of the test, about goroutines that a function has left behind.
	Log func(string)
}

// Runtime starts containers. It is a cri.Runtime.
type Runtime struct {
	config Config

	mu       sync.Mutex
	running  map[*process]bool // functions that have not returned
	programs map[*string]bool  // of exec, by their names for errors
	finished sync.WaitGroup
}

// NewRuntime returns a runtime. It returns an error for images with the same name, and for an invalid pattern.
func NewRuntime(config Config) (*Runtime, error) {
	var errs []error
	seen := map[string]bool{}
	config.Images = slices.Clone(config.Images)
	for i, image := range config.Images {
		if image.Program != nil {
			run, err := image.Program.function(config.Kubeconfig)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			image.Run, config.Images[i].Run = run, run
		}
		switch _, err := path.Match(image.Name, ""); {
		case err != nil:
			errs = append(errs, fmt.Errorf("image %q is not a pattern of path.Match: %w", image.Name, err))
		case image.Name == "":
			errs = append(errs, errors.New("the name of an image is empty"))
		case image.Run == nil:
			errs = append(errs, fmt.Errorf("the function of image %q is nil", image.Name))
		case seen[image.Name]:
			errs = append(errs, fmt.Errorf("image %q has two functions or programs; leave one out", image.Name))
		}
		seen[image.Name] = true
	}
	return &Runtime{config: config, running: map[*process]bool{}, programs: map[*string]bool{}}, errors.Join(errs...)
}

// Has implements cri.Runtime.
func (r *Runtime) Has(image string) bool { return r.image(image) != nil }

// image returns the image of a name, or nil.
func (r *Runtime) image(name string) *Image {
	for i := range r.config.Images {
		if living.MatchesImage(r.config.Images[i].Name, name) {
			return &r.config.Images[i]
		}
	}
	return nil
}

// Start implements cri.Runtime.
func (r *Runtime) Start(container cri.Container) cri.Process {
	image := r.image(container.Spec.Image)
	p := newProcess(r, container, image.Program != nil)
	r.begin(p, image.Run)
	return p
}

// begin runs the function of a process.
func (r *Runtime) begin(p *process, function Function) {
	r.mu.Lock()
	r.running[p] = true
	r.mu.Unlock()
	r.finished.Go(func() {
		defer func() { // also if the function ends its goroutine
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.running, p)
		}()
		p.run(function)
	})
}

// run runs a program of exec on a goroutine of its own.
func (r *Runtime) run(name string, program func()) {
	r.mu.Lock()
	r.programs[&name] = true
	r.mu.Unlock()
	r.finished.Go(func() {
		defer func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			delete(r.programs, &name)
		}()
		program()
	})
}

// closing is the time that Close waits for functions.
const closing = 10 * time.Second

// Close cancels the contexts of all running functions, and waits until they have returned. After ten seconds it reports
// functions that have not returned, and kills programs.
func (r *Runtime) Close() {
	r.mu.Lock()
	for p := range r.running {
		p.cancel()
		if p.script {
			p.container.kill()
		}
	}
	r.mu.Unlock()
	done := make(chan struct{})
	go func() {
		r.finished.Wait()
		close(done)
	}()
	timer := time.NewTimer(closing)
	defer timer.Stop()
	select {
	case <-done:
		r.logLeftover()
		return
	case <-timer.C:
	}
	if r.reportRunning() == 0 {
		<-done // only programs were left, which are killed
	}
}

// leaving is the time that goroutines of functions may take to end after the functions. Nothing signals the end of a
// goroutine, so this is a sleep; it is left out without such goroutines.
const leaving = 100 * time.Millisecond

// logLeftover logs the goroutines of functions that still run. It does not fail the test, because libraries start
// goroutines for the whole process that a function cannot end.
func (r *Runtime) logLeftover() {
	if r.config.Log == nil || len(leftover(r.prefix())) == 0 {
		return
	}
	time.Sleep(leaving)
	for _, sentence := range leftover(r.prefix()) {
		r.config.Log(sentence)
	}
}

// prefix returns the prefix of the labels of this runtime's goroutines.
func (r *Runtime) prefix() string { return fmt.Sprintf("%p ", r) }

// reportRunning kills running programs, and reports running functions. It returns the number of functions.
func (r *Runtime) reportRunning() (functions int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.running {
		if p.program {
			p.container.kill() // a system does the same after the grace period
			continue
		}
		functions++
		r.config.Report(fmt.Errorf("%s has not returned %v after the end of the cluster; the function must return when its context is done", p, closing))
	}
	for name := range r.programs {
		functions++
		r.config.Report(fmt.Errorf("%s has not returned %v after the end of the cluster; it must return when its context is done", *name, closing))
	}
	return functions
}
