// Package davserver starts nginx with its DAV module as a cache in Bazel's HTTP layout, for tests. Nginx must be installed: `sh .ci/tools.sh test` does that.
package davserver

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Server is a running nginx.
type Server struct {
	URL  string // http://127.0.0.1:PORT
	Root string // the folder it serves

	cmd *exec.Cmd
}

// Options say how it is set up.
type Options struct {
	ReadOnly bool   // nothing can be put
	MaxBody  string // limit of what can be put, like "1k"; "": none
}

// The socket is opened here and inherited, so that no port is taken between choosing and binding it, and requests wait until nginx is up.
const config = `daemon off;
%[5]s
worker_processes 1;
pid %[1]s/pid;
error_log %[1]s/error.log warn;
events { worker_connections 1024; }
http {
	access_log off;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server {
		listen %[2]s;
		root %[1]s/root;
		client_max_body_size %[4]s;
		location / {
			%[3]s
		}
	}
}
`

// Start starts nginx on a free port of the loopback interface; it keeps its files in dir, a new folder. Stop it when done.
func Start(dir string, opts Options) (*Server, error) {
	program, err := exec.LookPath("nginx")
	if err != nil {
		if program, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			return nil, errors.New("nginx is not installed: run `sh .ci/tools.sh test`, or install Debian's nginx")
		}
	}
	s := &Server{Root: filepath.Join(dir, "root")}
	if err := os.MkdirAll(s.Root, 0o777); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	socket, err := l.(*net.TCPListener).File()
	if err != nil {
		return nil, err
	}
	defer socket.Close()
	s.URL = "http://" + l.Addr().String()
	dav := "dav_methods PUT DELETE;\n\t\t\tcreate_full_put_path on;"
	if opts.ReadOnly {
		dav = "limit_except GET { deny all; }"
	}
	limit := opts.MaxBody
	if limit == "" {
		limit = "0"
	}
	user := ""
	if os.Geteuid() == 0 {
		user = "user root;" // its worker would be nobody, who may not read our folders
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, fmt.Appendf(nil, config, dir, l.Addr(), dav, limit, user), 0o666); err != nil {
		return nil, err
	}
	s.cmd = exec.Command(program, "-c", file, "-e", filepath.Join(dir, "error.log"))
	s.cmd.Env = append(os.Environ(), "NGINX=3;") // the number of the inherited socket
	s.cmd.ExtraFiles = []*os.File{socket}
	s.cmd.Stderr = os.Stderr
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return s, s.cmd.Start()
}

// Stop ends nginx.
func (s *Server) Stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it ends its worker and itself
	_ = s.cmd.Wait()
}
