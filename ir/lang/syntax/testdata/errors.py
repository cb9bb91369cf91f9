# Each chunk is a source file with errors. A comment ### "regexp" stands on every line that must have a report, and only there.
# "col N: text" also fixes the column.

x = (1 + 2 ### "col 5: '\\(' was never closed"
y = 3
---
def f( ### "col 6: '\\(' was never closed"
    a,
    b
x = 1
def g(): pass
---
foo(a, b ### "col 4: '\\(' was never closed"
def g():
    pass
---
x = [ ### "col 5: '\\[' was never closed"
    1,
    2,
def f():
    return 3
z = ( ### "col 5: '\\(' was never closed"
---
def f():
    x = ( ### "col 9: '\\(' was never closed"
        1 +

    return x

def g():
    y = 2 2 ### "col 11: unexpected number 2, expected the end of the statement"
---
x = ) ### "col 5: unmatched '\\)'"
y = (1] ### "col 7: closing parenthesis '\\]' does not match opening parenthesis '\\('"
---
x = (1,
     2] ### "col 7: does not match opening parenthesis '\\(' on line 1"
---
if x ### "col 5: expected ':'"
    y = 1
    z = = 2 ### "col 9: unexpected '=', expected an expression"
for i in range(3) ### "col 18: expected ':'"
    pass
class A ### "col 8: expected ':'"
    pass
def f(x) -> int ### "col 16: expected ':'"
    return x
---
if x:
y = 1 ### "col 1: expected an indented block after 'if' statement on line 1"
---
def f(x):
return x ### "col 1: expected an indented block after function definition on line 1"
---
class C:
    def f(self):
    def g(self): ### "col 5: expected an indented block after function definition on line 2"
        pass
---
  x = 1 ### "col 3: unexpected indent"
y = 2
---
if x:
    a = 1
      b = 2 ### "col 7: unexpected indent"
    c = d e ### "col 11: unexpected 'e'"
---
if x:
        a = 1
    b = 2 ### "col 5: unindent does not match any outer indentation level"
c = 3
---
if True:
    pass
  elif x: ### "col 3: unindent does not match any outer indentation level"
    pass
---
while True:
	x = 1
        y = 2 ### "col 1: inconsistent use of tabs and spaces in indentation"
---
x = 'abc ### "col 5: unterminated string literal \\(detected at line 1\\)"
y = f'{a} ### "col 5: unterminated f-string literal"
z = 1
---
z = 1
x = """abc ### "col 5: unterminated triple-quoted string literal \\(detected at line 4\\)"
def
ghi
---
f(a=1, 2) ### "col 8: positional argument follows keyword argument"
f(**k, 2) ### "col 8: positional argument follows keyword argument unpacking"
f(**k, *a) ### "col 8: iterable argument unpacking follows keyword argument unpacking"
f(a=1, a=2) ### "col 8: keyword argument repeated: a"
f(x for x in y, 1) ### "col 3: Generator expression must be parenthesized"
f(a.b=1) ### "col 3: expression cannot contain assignment, perhaps you meant \"==\"\\?"
f(True=1) ### "col 3: cannot assign to True"
f(a b) ### "col 3: invalid syntax. Perhaps you forgot a comma\\?"
---
f() = 1 ### "col 1: cannot assign to function call here. Maybe you meant '==' instead of '='\\?"
1 = x ### "col 1: cannot assign to literal here."
x + 1 = 2 ### "col 1: cannot assign to expression here."
"abc" = 1 ### "col 1: cannot assign to literal here."
None = 3 ### "col 1: cannot assign to None$"
[a, 1] = x ### "col 5: cannot assign to literal$"
(a, f()) = 3 ### "col 5: cannot assign to function call$"
a < b = 3 ### "col 1: cannot assign to comparison"
f() += 1 ### "col 1: 'function call' is an illegal expression for augmented assignment"
for f() in x: pass ### "col 5: cannot assign to function call"
with x as f(): pass ### "col 11: cannot assign to function call"
del f() ### "col 5: cannot delete function call"
a, b: int = 3 ### "col 1: only single target \\(not tuple\\) can be annotated"
f(): int = 3 ### "col 1: illegal target for annotation"
x := 3 ### "col 3: ':=' cannot stand on its own"
f((a, 1) := 2) ### "col 3: cannot use assignment expressions with tuple"
---
[1 2, 3] ### "col 2: Perhaps you forgot a comma"
x = [1, 2 ### "col 9: Perhaps you forgot a comma"
     3]
{1: 2 3: 4} ### "col 3: Perhaps you forgot a comma"
x = {1: 2, 3} ### "col 13: ':' expected after dictionary key"
x = {1: , 2: 3} ### "col 7: expression expected after dictionary key and ':'"
x = {1, 2: 3} ### "col 10: unexpected ':', expected ',' or '}'"
{**a for a in b} ### "col 2: dict unpacking cannot be used in dict comprehension"
[*a for a in b] ### "col 2: iterable unpacking cannot be used in comprehension"
[x for x in 1, 2] ### "col 14: unexpected ','"
(*a) ### "col 2: cannot use starred expression here"
x[] ### "col 3: a subscript needs an index"
---
print "hello" ### "col 1: Missing parentheses in call to 'print'. Did you mean print\\(...\\)\\?"
whlie x: ### "col 1: unexpected 'x' after 'whlie'"
    pass
retrun x ### "col 1: unexpected 'x' after 'retrun'"
if x = 3: ### "col 4: Maybe you meant '==' or ':=' instead of '='\\?"
    pass
else:
    pass
---
x = 1
else: ### "col 1: 'else' without"
    pass
---
try: ### "related"
    x = 1
y = 2 ### "col 1: expected 'except' or 'finally' block"
---
try:
    pass
except A, B: ### "col 8: multiple exception types must be parenthesized"
    pass
---
try:
    pass
except A:
    pass
except* B: ### "col 1: cannot have both 'except' and 'except\\*'"
    pass
---
if x:
    pass
else if y: ### "col 6: expected ':'"
    pass
---
def f(a, a): pass ### "col 10: duplicate argument 'a' in function definition"
def f(a=1, b): pass ### "col 12: non-default argument follows default argument"
def f(*): pass ### "col 7: named arguments must follow bare \\*"
def f(**k, a): pass ### "col 12: arguments cannot follow var-keyword argument"
def f(*a, *b): pass ### "col 11: \\* argument may appear only once"
def f(x y): pass ### "col 9: Perhaps you forgot a comma"
def f(x, (a, b)): pass ### "col 10: parameters cannot be parenthesized"
def f(self, x: int = ): pass ### "col 20: expected default value expression"
def f(/, a): pass ### "col 7: at least one argument must precede /"
def f: pass ### "col 6: expected '\\('"
def f[T](x): pass ### "col 6: expected '\\('"
---
x = 08 ### "col 5: leading zeros in decimal integer literals are not permitted"
x = 1abc ### "col 5: invalid decimal literal"
x = 0xZZ ### "col 5: invalid hexadecimal literal"
x = 1__0 ### "col 5: invalid decimal literal"
x = 0b12 ### "col 5: invalid digit '2' in binary literal"
---
a = 5 + ### "col 9: unexpected end of line, expected an expression"
import a.b as ### "col 15: unexpected end of line, expected a name after 'as'"
from a import b, ### "col 18: trailing comma not allowed without surrounding parentheses"
x = a if b ### "col 5: expected 'else' after 'if' expression"
x++ ### "col 5: unexpected end of line"
a && b ### "col 4: unexpected '&', expected an expression"
!a ### "col 1: unexpected '!', expected an expression"
a ? b : c ### "col 3: character '\\?' has no meaning here"
x = 5 $ 3 ### "col 7: character '\\$' has no meaning here"
x = “abc” ### "col 5: invalid character '“' \\(U\\+201C\\)"
a <> b ### "col 3: '<>' is not an operator"
class = 3 ### "col 7: unexpected '=', expected a name of a class"
global x, 1 ### "col 11: unexpected number 1, expected a name"
x = lambda: (yield ### "col 13: '\\(' was never closed"
---
x = f"{a" ### "col 9: f-string: expecting '}'"
x = f"{}" ### "col 7: f-string: empty expression not allowed"
x = f"{a!z}" ### "col 10: f-string: invalid conversion character"
x = f"a}" ### "col 8: f-string: single '}' is not allowed"
x = f"{a b}" ### "col 10: f-string: expecting '}'"
x = "a" b"b" ### "col 5: cannot mix bytes and nonbytes literals"
x = b"é" ### "col 5: bytes can only contain ASCII literal characters"
x = "\x1" ### "col 5: truncated \\\\xXX escape"
---
@foo
x = 1 ### "col 1: unexpected 'x', expected 'def' or 'class' after a decorator"
async x ### "col 7: expected 'def', 'for' or 'with' after 'async'"
class A: def f(self): pass ### "col 10: 'def' cannot stand on the line of another statement"
if x: if y: pass ### "col 7: 'if' cannot stand on the line of another statement"
def f(x): -> int ### "col 11: unexpected '->'"
---
match x:
    case 1:
        pass
    case ### "col 10: unexpected end of line, expected an expression"
---
# columns count characters
x = "日本語" + y z ### "col 15: unexpected 'z'"
δ = (1, 2 3) ### "col 9: Perhaps you forgot a comma"
---
# one file, several errors, none of them a consequence of another
import pypto.language as pl

@pl.program
class P:
    @pl.function(type=pl.FunctionType.InCore)
    def k(self, x: pl.Tensor[[16, 16] pl.FP32]): ### "col 30: Perhaps you forgot a comma"
        v = pl.load(x, [0, 0], [16, 16]
        return v

    @pl.function
    def main(self, x: pl.Tensor[[16, 16], pl.FP32]):
        for i in pl.range(4) ### "col 29: expected ':'"
            y = self.k(x) ### "related"
        if i = 3: ### "col 12: Maybe you meant '=='"
            return y
        z = pl.add(y, y=1, 2) ### "col 28: positional argument follows keyword argument"
        return z
