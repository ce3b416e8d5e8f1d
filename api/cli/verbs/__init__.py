"""Commands as they are typed: arguments, options and help. Each names the function that carries it out, whose module is
loaded when the command runs, not for its help. A command that needs little is declared where it is carried out."""
