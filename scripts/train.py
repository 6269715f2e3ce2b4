"""Fine-tuning in a few lines of Python: `train.py CONFIG.yaml OUTPUT [KEY=VALUE ...]`."""

import sys

import longdoc


def main() -> None:
    """Train, keep the best epoch, say where it is. `data.train` and `data.validation` come from the configuration."""
    if len(sys.argv) < 3:
        sys.exit("usage: train.py CONFIG.yaml OUTPUT [KEY=VALUE ...]")
    config = longdoc.load_config(sys.argv[1], sys.argv[3:])
    pipe = longdoc.train(config, sys.argv[2])
    print(f"labels: {', '.join(pipe.labels)}; model in {sys.argv[2]}")


if __name__ == "__main__":
    main()
