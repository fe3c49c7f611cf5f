package host

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"

	"github.com/fakecluster/fakecluster/fakecluster"
	"github.com/fakecluster/fakecluster/internal/bubble"
)

// Function is an HTTP handler in the process of a client that a cluster calls.
type Function struct {
	Number uint64 `json:"function,omitempty" doc:"the number of the handler for calls in a bubble, which come with its frames"`
	URL    string `json:"url,omitempty" doc:"where the client serves the handler for clusters outside of bubbles, such as http://127.0.0.1:34567/hook; the path of a call is appended"`
}

// Service is a Service that the client serves.
type Service struct {
	Namespace string `json:"namespace" doc:"the namespace of the Service"`
	Name      string `json:"name" doc:"the name of the Service"`
	Port      int    `json:"port" doc:"the port of the Service"`
	Function
}

// Conversion converts the objects of a definition.
type Conversion struct {
	Definition string `json:"definition" doc:"the name of the CustomResourceDefinition, such as crontabs.example.com"`
	Function
}

// ServiceAddress is the address of a Service that the client serves.
type ServiceAddress struct {
	Namespace string `json:"namespace" doc:"the namespace of the Service"`
	Name      string `json:"name" doc:"the name of the Service"`
	Port      int    `json:"port" doc:"the port of the Service"`
	Address   string `json:"address" doc:"where the cluster calls the Service, such as https://127.0.0.1:34567"`
}

// functions returns the options with handlers in the process of the client.
func (s Start) functions(h *Host) (options []fakecluster.Option, err error) {
	for _, one := range s.Services {
		handler, err := h.function(one.Function)
		if err != nil {
			return nil, fmt.Errorf("services: %s/%s: %w", one.Namespace, one.Name, err)
		}
		options = append(options, fakecluster.WithService(one.Namespace, one.Name, one.Port, handler))
	}
	for _, one := range s.Conversions {
		handler, err := h.function(one.Function)
		if err != nil {
			return nil, fmt.Errorf("conversions: %s: %w", one.Definition, err)
		}
		options = append(options, fakecluster.WithConversion(one.Definition, handler))
	}
	return options, nil
}

// serveWebhooks sets the handler of the client that serves the webhooks of a cluster.
func serveWebhooks(c call, f Function) (none, error) {
	handler, err := c.host.function(f)
	if err != nil {
		return none{}, err
	}
	return none{}, wrong(c.cluster.ServeWebhooks(handler))
}

// addresses returns the addresses of the Services that the client of a cluster serves.
func (c *cluster) addresses() (found []ServiceAddress) {
	for _, one := range c.services {
		found = append(found, ServiceAddress{one.Namespace, one.Name, one.Port, c.ServiceURL(one.Namespace, one.Name, one.Port)})
	}
	return found
}

// function returns the handler that calls a function of a client.
func (h *Host) function(f Function) (http.Handler, error) {
	made := &function{host: h, number: f.Number}
	if f.URL == "" && f.Number == 0 {
		return nil, refuse(http.StatusBadRequest, "url is missing: give the URL at which the client serves the handler")
	}
	if f.URL != "" {
		u, err := url.Parse(f.URL)
		if err != nil || u.Scheme != "http" || !isLoopback(u.Host) {
			return nil, refuse(http.StatusBadRequest, "url: %.100q is not an http URL of this machine, such as http://127.0.0.1:34567/hook", f.URL)
		}
		made.proxy = &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(u)
				r.Out.Host = r.In.Host
				for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
					if values := r.In.Header[name]; values != nil {
						r.Out.Header[name] = values // httputil has removed them
					}
				}
			},
			FlushInterval:  -1,
			Transport:      h.calls,
			ModifyResponse: panicOf,
			ErrorHandler:   abortCall,
			ErrorLog:       log.New(io.Discard, "", 0), // the caller gets the error
		}
	}
	return made, nil
}

// function calls a function of a client: in a bubble through its frames, elsewhere at the URL of the client. A fork has
// the functions of its origin, even if only the fork is in a bubble.
type function struct {
	host   *Host
	number uint64
	proxy  *httputil.ReverseProxy // nil: the function is called in bubbles only
}

// ServeHTTP implements http.Handler.
func (f *function) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	withTLS(req.Header, req.TLS)
	switch d := f.host.driverHere(); {
	case d != nil && f.number != 0:
		d.call(f.number, w, req)
	case d != nil:
		http.Error(w, "the handler has only a url: a call in a bubble needs its function number", http.StatusNotImplemented)
	case f.proxy == nil:
		http.Error(w, "the handler has only a function number: a call outside of bubbles needs its url", http.StatusNotImplemented)
	default:
		f.proxy.ServeHTTP(w, req)
	}
}

// driverHere returns the driver of the bubble of the caller, or nil.
func (h *Host) driverHere() *driver {
	number := bubble.Number()
	if number == "" {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for d := range h.drivers {
		if d.number == number {
			return d
		}
	}
	return nil
}

// panicHeader is the header of an answer for a handler that has panicked, with the reason and the place.
const panicHeader = "Fakecluster-Panic"

// functionPanic is a panic in a function of a client.
type functionPanic string

func (p functionPanic) Error() string { return string(p) }

// PlaceOfPanic marks an error whose text has the place of the panic.
func (p functionPanic) PlaceOfPanic() {}

// panicOf returns the panic of a function as an error.
func panicOf(answer *http.Response) error {
	if text := answer.Header.Get(panicHeader); text != "" {
		return functionPanic(text)
	}
	return nil
}

// abortCall closes the connection of a call whose function has panicked or does not answer.
func abortCall(_ http.ResponseWriter, _ *http.Request, err error) {
	if p := functionPanic(""); errors.As(err, &p) {
		panic(p)
	}
	panic(http.ErrAbortHandler)
}

// functionCall is a call of a function of a client in a bubble. Its fields except changed are guarded by the lock of the driver.
type functionCall struct {
	changed chan struct{} // receives when the other fields have changed
	status  int           // 0: no answer yet
	header  http.Header
	data    []byte
	ended   bool
	outcome uint64
	text    string // of a panic
}

// call calls a function in the bubble of the client.
func (d *driver) call(number uint64, w http.ResponseWriter, req *http.Request) {
	id, c, err := d.beginCall(number, req)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	defer d.forgetCall(id)
	answered := false
	for {
		select {
		case <-c.changed:
		case <-req.Context().Done():
			panic(http.ErrAbortHandler)
		}
		d.mu.Lock()
		status, header, data, ended := c.status, c.header, c.data, c.ended
		c.data = nil
		d.mu.Unlock()
		if status != 0 && !answered {
			answered = true
			for name, values := range header {
				w.Header()[name] = values
			}
			w.WriteHeader(status)
		}
		_, _ = w.Write(data) // if the caller has gone, the context ends
		switch {
		case !ended:
			_ = http.NewResponseController(w).Flush()
		case c.outcome == functionPanicked:
			panic(functionPanic(c.text))
		case c.outcome == functionAborted:
			panic(http.ErrAbortHandler)
		default:
			return
		}
	}
}

// beginCall has the client call a function.
func (d *driver) beginCall(number uint64, req *http.Request) (id uint64, c *functionCall, err error) {
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return 0, nil, err
	}
	c = &functionCall{changed: make(chan struct{}, 1)}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.called++
	id = d.called
	d.calls[id] = c
	d.out = binary.AppendUvarint(appendKind(d.out, callFunction, id), number)
	for _, text := range []string{req.Method, req.RequestURI, req.Host} {
		d.out = appendText(d.out, text)
	}
	d.out = appendText(appendHeader(d.out, req.Header), body)
	return id, c, nil
}

// cancelCall ends the context of a call.
func (d *driver) cancelCall(id uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.out = appendKind(d.out, cancelCall, id)
}

// forgetCall forgets a call, for which nobody waits any more.
func (d *driver) forgetCall(id uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.calls[id].ended {
		d.out = appendKind(d.out, cancelCall, id)
	}
	delete(d.calls, id)
}

// takeCall takes an action of a frame about a call.
func (d *driver) takeCall(kind byte, id uint64, messages *reader) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := d.calls[id]
	if c == nil {
		c = &functionCall{changed: make(chan struct{}, 1)} // the caller has gone
	}
	var err error
	switch kind {
	case functionHead:
		var status uint64
		if status, err = messages.number(); err == nil {
			c.header, err = messages.header()
		}
		if c.status = int(status); err == nil && (c.status < 200 || c.status > 999) {
			return errFrame
		}
	case functionData:
		var data []byte
		data, err = messages.text()
		c.data = append(c.data, data...)
	case functionEnd:
		if c.outcome, err = messages.number(); err == nil {
			var text []byte
			text, err = messages.text()
			c.ended, c.text = true, string(text)
		}
	}
	select {
	case c.changed <- struct{}{}:
	default:
	}
	return err
}
