"""`python -m draftproof`: the command line."""

from draftproof import main

if __name__ == "__main__":
    main()
