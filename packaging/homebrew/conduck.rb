# The formula for a tap of our own. It unpacks the tarball that scripts/bundle makes: the
# files of the package for Debian, without a venv, and nothing is fetched or built.
# scripts/bundle writes build/conduck.rb, which is this with the tarball's own digest.
class Conduck < Formula
  desc "Chat adapter and file lane between the Conduck app and an AI agent"
  homepage "https://conduck.invalid/"
  url "https://conduck.invalid/conduck-0.1.0-bundle.tar.xz"
  version "0.1.0"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license all_of: ["MIT", "Apache-2.0", "BSD-3-Clause", "PSF-2.0"]

  depends_on "python@3.13"

  def install
    libexec.install "lib"
    (libexec/"bin").mkpath
    launch libexec/"bin/os", "toolbelt.cli"
    bin.mkpath
    launch bin/"open-conduit", "cli.main"
    bin.install_symlink "open-conduit" => "conduck"
    man1.install "share/man/man1/open-conduit.1"
    man1.install_symlink "open-conduit.1" => "conduck.1"
    bash_completion.install Dir["share/bash-completion/completions/*"]
    zsh_completion.install Dir["share/zsh/vendor-completions/*"]
    fish_completion.install Dir["share/fish/vendor_completions.d/*"]
    prefix.install "LICENSE", "COPYRIGHT"
  end

  # The path without a version stays true when another version takes its place.
  def launch(file, mod)
    file.write <<~PYTHON
      #!#{Formula["python@3.13"].opt_bin}/python3.13 -I
      import sys

      sys.path.insert(0, "#{opt_libexec}/lib")

      from conduck_service.#{mod} import main

      main()
    PYTHON
    file.chmod 0755
  end

  def caveats
    <<~TEXT
      Make a config first, and pair the app when the service answers:
        open-conduit init
        brew services start conduck
        open-conduit pair --url https://...
      After an upgrade the old version runs until you say:
        brew services restart conduck
      Use either this service or `open-conduit service install`, not both.
    TEXT
  end

  service do
    run [opt_bin/"open-conduit", "serve"]
    keep_alive successful_exit: false
    process_type :interactive
    environment_variables(
      CONDUCK_FILES_DIR: "#{Etc.getpwuid.dir}/Conduck",
      LANG:              "en_US.UTF-8",
      PATH:              "#{Etc.getpwuid.dir}/.local/bin:#{std_service_path_env}",
    )
    log_path var/"log/conduck.log"
    error_log_path var/"log/conduck.log"
    throttle_interval 30
    stop_timeout 60
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/open-conduit --version")
    assert_match version.to_s, shell_output("#{libexec}/bin/os --version")
    shell_output("#{bin}/open-conduit init --yes --engine /bin/cat --folder #{testpath}/folder")
    shell_output("#{bin}/open-conduit config check")
  end
end
