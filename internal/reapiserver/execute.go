package reapiserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"cloud.google.com/go/longrunning/autogen/longrunningpb"
	repb "github.com/bazelbuild/remote-apis/build/bazel/remote/execution/v2"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
)

// message reads a message from the store.
func (s *Server) message(d *repb.Digest, m proto.Message) error {
	b, ok := s.get(d)
	if !ok {
		return status.Errorf(codes.FailedPrecondition, "blob %s is missing", name(d))
	}
	if err := proto.Unmarshal(b, m); err != nil {
		return status.Errorf(codes.InvalidArgument, "blob %s: %v", name(d), err)
	}
	return nil
}

func (s *Server) directory(d *repb.Digest) (*repb.Directory, error) {
	dir := &repb.Directory{}
	return dir, s.message(d, dir)
}

// Execute runs an action and streams one operation, which is done.
func (s *Server) Execute(req *repb.ExecuteRequest, out repb.Execution_ExecuteServer) error {
	if err := s.instance(req.GetInstanceName()); err != nil {
		return err
	}
	ctx := out.Context()
	resp := &repb.ExecuteResponse{}
	if !req.GetSkipCacheLookup() {
		if r, err := s.GetActionResult(ctx, &repb.GetActionResultRequest{ActionDigest: req.GetActionDigest()}); err == nil {
			resp.Result, resp.CachedResult = r, true
		}
	}
	if resp.Result == nil {
		r, err := s.run(ctx, req.GetActionDigest())
		if status.Code(err) == codes.FailedPrecondition || status.Code(err) == codes.InvalidArgument {
			return err
		}
		resp.Result, resp.Status = r, statusOf(err)
	}
	result, err := anypb.New(resp)
	if err != nil {
		return err
	}
	meta, err := anypb.New(&repb.ExecuteOperationMetadata{Stage: repb.ExecutionStage_COMPLETED, ActionDigest: req.GetActionDigest()})
	if err != nil {
		return err
	}
	return out.Send(&longrunningpb.Operation{Name: "operations/" + req.GetActionDigest().GetHash(), Metadata: meta, Done: true,
		Result: &longrunningpb.Operation_Response{Response: result}})
}

// run executes an action in a folder that holds its inputs and nothing else.
func (s *Server) run(ctx context.Context, digest *repb.Digest) (*repb.ActionResult, error) {
	action, command := &repb.Action{}, &repb.Command{}
	if err := s.message(digest, action); err != nil {
		return nil, err
	}
	if err := s.message(action.GetCommandDigest(), command); err != nil {
		return nil, err
	}
	root, err := os.MkdirTemp(s.opts.ScratchDir, "action-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	if err := s.materialise(action.GetInputRootDigest(), root); err != nil {
		return nil, err
	}
	work, err := below(root, command.GetWorkingDirectory())
	if err != nil {
		return nil, err
	}
	//lint:ignore SA1019 Bazel names outputs in the old way up to version 6
	outputs := slices.Concat(command.GetOutputPaths(), command.GetOutputFiles(), command.GetOutputDirectories())
	for _, o := range outputs {
		p, err := below(work, o)
		if err != nil {
			return nil, err
		}
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			return nil, err
		}
	}
	if t := action.GetTimeout(); t != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, t.AsDuration())
		defer cancel()
	}
	r := &repb.ActionResult{}
	if err := s.start(ctx, command, work, r); err != nil {
		return nil, err
	}
	for _, o := range outputs {
		if err := s.collect(work, o, r); err != nil {
			return nil, err
		}
	}
	if r.GetExitCode() == 0 && !action.GetDoNotCache() {
		if _, err := s.UpdateActionResult(ctx, &repb.UpdateActionResultRequest{ActionDigest: digest, ActionResult: r}); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// A program that was just written may be open for writing in another child that is being started (golang.org/issue/22315): it is tried again.
const (
	busyTries = 50
	busyWait  = 10 * time.Millisecond
)

// start runs the command to its end with no environment but its own.
func (s *Server) start(ctx context.Context, command *repb.Command, work string, r *repb.ActionResult) error {
	if len(command.GetArguments()) == 0 {
		return status.Error(codes.InvalidArgument, "a command without arguments")
	}
	env := []string{}
	var searched string
	for _, v := range command.GetEnvironmentVariables() {
		env = append(env, v.GetName()+"="+v.GetValue())
		if v.GetName() == "PATH" {
			searched = v.GetValue()
		}
	}
	program, err := lookPath(command.GetArguments()[0], work, searched)
	if err != nil {
		return err
	}
	var stdout, stderr bytes.Buffer
	for range busyTries {
		cmd := exec.CommandContext(ctx, program)
		cmd.Args, cmd.Dir, cmd.Env = command.GetArguments(), work, env
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with all that it started
		cmd.WaitDelay = time.Second
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		if err = cmd.Run(); !errors.Is(err, syscall.ETXTBSY) {
			break
		}
		time.Sleep(busyWait)
	}
	r.StdoutRaw, r.StderrRaw = stdout.Bytes(), stderr.Bytes()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return status.FromContextError(ctx.Err()).Err()
	case errors.As(err, &exit):
		r.ExitCode = int32(cmp.Or(max(exit.ExitCode(), 0), 128))
	case err != nil:
		return status.Errorf(codes.FailedPrecondition, "the command cannot be started: %v", err)
	}
	return nil
}

// lookPath finds the program of a command: a name without slash along the command's PATH, another one from its folder.
func lookPath(arg, work, searched string) (string, error) {
	if strings.Contains(arg, "/") {
		if filepath.IsAbs(arg) {
			return arg, nil
		}
		return filepath.Join(work, arg), nil
	}
	for dir := range strings.SplitSeq(cmp.Or(searched, "/bin:/usr/bin"), ":") {
		p := filepath.Join(dir, arg)
		if info, err := os.Stat(p); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return p, nil
		}
	}
	return "", status.Errorf(codes.FailedPrecondition, "no program %q", arg)
}

// below joins a relative path that must not leave its folder.
func below(dir, rel string) (string, error) {
	if rel != "" && !filepath.IsLocal(rel) {
		return "", status.Errorf(codes.InvalidArgument, "path %q leaves the input root", rel)
	}
	return filepath.Join(dir, rel), nil
}

// materialise makes a folder with the content of a Directory message.
func (s *Server) materialise(d *repb.Digest, to string) error {
	dir, err := s.directory(d)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for _, f := range dir.GetFiles() {
		b, ok := s.get(f.GetDigest())
		if !ok {
			return status.Errorf(codes.FailedPrecondition, "input %s is missing", f.GetName())
		}
		p, err := below(to, f.GetName())
		if err != nil {
			return err
		}
		mode := fs.FileMode(0o444)
		if f.GetIsExecutable() {
			mode = 0o555
		}
		if err := os.WriteFile(p, b, mode); err != nil {
			return err
		}
	}
	for _, l := range dir.GetSymlinks() {
		p, err := below(to, l.GetName())
		if err != nil {
			return err
		}
		if err := os.Symlink(l.GetTarget(), p); err != nil {
			return err
		}
	}
	for _, sub := range dir.GetDirectories() {
		p, err := below(to, sub.GetName())
		if err != nil {
			return err
		}
		if err := s.materialise(sub.GetDigest(), p); err != nil {
			return err
		}
	}
	return nil
}

// store keeps what execution made, whatever faults the server has.
func (s *Server) store(b []byte) *repb.Digest {
	d := digestOf(b)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blobs[name(d)] = b
	return d
}

// collect adds an output to a result; one that was not made is left out, as the API says.
func (s *Server) collect(work, output string, r *repb.ActionResult) error {
	p := filepath.Join(work, output)
	info, err := os.Stat(p) // through symbolic links: what they name belongs to the result
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.IsDir() {
		f, err := s.file(p, info)
		if err != nil {
			return err
		}
		r.OutputFiles = append(r.OutputFiles, &repb.OutputFile{Path: output, Digest: f.GetDigest(), IsExecutable: f.GetIsExecutable()})
		return nil
	}
	tree := &repb.Tree{}
	if tree.Root, err = s.tree(p, tree); err != nil {
		return err
	}
	b, err := proto.Marshal(tree)
	if err != nil {
		return err
	}
	r.OutputDirectories = append(r.OutputDirectories, &repb.OutputDirectory{Path: output, TreeDigest: s.store(b)})
	return nil
}

func (s *Server) file(p string, info fs.FileInfo) (*repb.FileNode, error) {
	b, err := os.ReadFile(p)
	if err != nil {
		return nil, err
	}
	return &repb.FileNode{Name: path.Base(p), Digest: s.store(b), IsExecutable: info.Mode()&0o111 != 0}, nil
}

// tree makes the Directory of a folder and adds those below it to a Tree.
func (s *Server) tree(p string, t *repb.Tree) (*repb.Directory, error) {
	entries, err := os.ReadDir(p) // sorted, as the API wants it
	if err != nil {
		return nil, err
	}
	dir := &repb.Directory{}
	for _, e := range entries {
		at := filepath.Join(p, e.Name())
		info, err := os.Stat(at)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			f, err := s.file(at, info)
			if err != nil {
				return nil, err
			}
			dir.Files = append(dir.Files, f)
			continue
		}
		sub, err := s.tree(at, t)
		if err != nil {
			return nil, err
		}
		t.Children = append(t.Children, sub)
		b, err := proto.MarshalOptions{Deterministic: true}.Marshal(sub)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", at, err)
		}
		dir.Directories = append(dir.Directories, &repb.DirectoryNode{Name: e.Name(), Digest: s.store(b)})
	}
	return dir, nil
}
