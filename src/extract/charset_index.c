/* The indexes of the Encoding Standard, packed. Made by script/charset_index.mjs; not to be
 * edited. */
#include "extract/charset_index_inner.h"

static const char packed_jis0208[] =
	"pKV!vdc-pN<vdq /^1pM8 o!{ve9o!ove7`<[epN> ]K [nqEKpK[!a0o|:^Kvdf^~^sp$!veVo|L^O^C . vd_ pK"
	"k ve4-J-pK_)vdb-o!x^wLvdtp$_vds-p$e ]dBik^No!wo|X `ivg&[&`u [+^N./Bo!np.m^O]s/^O^I^O^*^O>^"
	"O6^ON2pKip!H^N -pKjn+p#c._p ^K ]S^On(^N vg#p#+-^}.n+I_z_bZT0_N^AD ][^t^/D^F n'ZdZjp/z^N^Mo"
	"|F o!}n$p.Un/vdg)n'3,, n&2,, n$pL:,,,,,,*n+9,,,,,,, n(o*x,$-&n(3,$-&nG_:%^;A,, n/&H^4,, n-"
	"p+{-5/3^L3;^H;3]r-7/3^L7;^H;;^$:^I:3^->^E>5n~n~n~n~nh[%,'Tz)n pTd]x9^|]x:^+_&G1]cE^M3K^A_U"
	"!^@ _(^,n(^)T--p 'pV.p 2pRw$]4 2b$^O^Op$P:]w.^24`!]&^O`7] ^D n~n~n&qDgqVil4sT(qUoqy4d4qe@s"
	"C's WYhrcBqw}gKr@Or([s HX]sd|r/~q]Qr'lT]qivXQs'4s[Zrku_Pscqq{yrijs-Iqidg@jThFc4sRjcJr,MqES"
	"^v_6_D`Dq[ydn`4^~d/k{_#_UkGfcrGak8Mk.hk_5fDg`jUelm>^vqQYPV;q_Qru+sDlr_QqC%qbOrAqsC=rc#r{{["
	"lseYqL*dWb,^ud&g.lcs[Xr>rru_jIsTL9_#b:qSr^7qibrGvrrKsB#sUwqR0shsrdPqC6r^Qrxcr@PqYVZPr7&s#D"
	"sefqe.qRlr=HrS1sR0qZ#qD[sCQsV#r|Es[sqSGcYmgjAr)1`laMj3`S_)rQje8h=sYRr{CmVd,sJpr>7rUIa[s^tq"
	"wys3leUsRTr2eqRpWQmyaZaPe;gVaoh8_>r;Yd~bZ_{_8_qbJrm[jv_Of5sCgd!sh0qa!r()r:PrS|qN*qc/_*qtg_"
	"PfPgRj/a8`$rOQrrOs//shB^1c9qlhr;/r|rqKJqknmWrx+r/arL:qD!c$h5qw:r@SrcAsXnqC0lSQy_[^7_X^ gAb"
	".dBfwc5a0^|ra|r*<aQFhNbGhqglra6_$_sb*rz`^{^z_h_m^3hKgaqYhs8FgR_]sVPs'DqG{qmRlrrL2fRrxK`qjA"
	"s8_sUSdw`ZqE8_Cs0bq[ebL_uqs<a+_2__]{bN_5`Ve4sc!r)ydsklfjl#awrl*lym@sR,a>s8:qN!`fqbuQ<qj0bC"
	"jRr2Xj,r^Ks!QhDdCsLrsaRr=Ns^Vs(6q^rr.Es(+sHHqOYiaVQqrrikc]h:^Lh:rO7m3c4s/u_+hQbycokZa,`nqi"
	"@b,r2SsYl r!0reZr4I_HXSse6rCvqOHg>qwBeHr<z`e`cs <kYs@_qC9sedqS]r1Ma[sWZr.qqLFrdYs!7sGsc3qZ"
	"<sh=r.ir{WairipqN9rztrS;qDHaAdEqjPqN;`g:qpQqX3e]c@c)7_6ed2dR_q_7_OdEbhe:_w`>dmAa@f:_j]ZmW_"
	"]cO^yiP`9_ucLb,`R`EcMaus00aUcdi4i(b ^N<`[bNb4ry qC_qT4qm aPrOpepa+qlprrzs9MsUOb/_6/qEp8jdd"
	"S`ebsb,cF`S`eb]_gb-j gaY^6azc/^Ib|qq)r8t_F_ZrTzi$qi<rbNfqquGs/j_~ei`[b4_Es[HaiakqDJd$_xqd8"
	"d0q|4_Ee7r7DrL{fbhorr6s+Ef0`Lr!Br}esWwqSp^Jc+r/=d+s25r]Ar,tsltqR5qi}rv7m sBiqC=^~_w_=k^_cq"
	"j+gzaNlucqlM_#_fhMhCrci_+_Nd9^3_]r(UrL4qR~qkhc&l19_,r@Js&qi2heldrBtraPsc;qDs. a*0an_kre/qL"
	"[_zb=]z_R_acEfGj_e >`~MIf dcl9eBrM@^|lJrus8a>gZsEEfZi{b7a>qE_f^qkOr*6f]qkcr+LeOrOOr/9riKqJ"
	"hdGjdqpTsKLr'omlFrQBm8_/boeKl6aOkW`yc_k;d'qT(sI_qD&c^hh[^rMU`WjSr{7s>$s^u-5qLbqy3s&uqXJrcm"
	"qIuqjQsCMsTpqCXr6AsG~qkt^Gr!-rd4r;,sWJs@|rd@rIysTsriLr.^rnor/:sL5qPmafs$zjirr1s>Cd;qR's,wr"
	"`GqGya7b2[:ilc_rPTq^YcJqtH^sa,a<^A_5d0_}aoa>cWr@<rTak|f-_E_A`Ja]h[_/h:gO_Oa>hOsY7mbrzgsB/s"
	"doqO^q|$e/rD{sU&r/*qJ2r7)b9fJrcgfLs,-chr+cqEeb!^<_2aS`T^|gXbHa1f6j-f'_9a6_tr1NaIrLW_!_wl-_"
	"OlRrY9ru!s/fbocMcubrg%fvc`cBjfqL,e'@qqv`Cr@E_jl;_orkUl;s1 a5sT9qCucAi4`/eJfGbteY`R_qg$f~e5"
	"rA#j{rj7s-Frtx_3g!e)j8gvjOk3c#sm^qD_^N_pj:a<^EqezmIAa9r04clrQij&s2e1`lsG%qD'sdOqDo`q_&__^M"
	"ap^tapF_8`3_<_ ^Mb[cL_Ec`c[4_%e -;_v6CI_Uawa5b*_4`hbu``_4`I_n`L_kaqea`d_2`__crT+b4cjcWen^v"
	">_9_Ge/^=`D-`:_.`2aelBAf)bh_Ni)`Ca7r]YsK eu`Ac;bua|e.qO0_Db+<krq~ErE=s7effsl`qL4a+d6f!rc1s"
	"FjshwbRrNgQfrw1rShqv*`vsaBrMYsA{r7osX~qE7q[w_ib9b}qw9b>jH^Gd[_mm1rUtrkLl}sc#qDf`Mjzazqn~_l"
	"3r.AkBrR$hGs1ssLas-rq]{qrEk'qJW^G`zr+ZqUxhMb<czhrfTb3k@gJebeAsG^rLZr].<b&r'XrkBr}wl,s@!sU("
	"qO9kir,NrqTs8>qMBm{sSqq`Pr2aru-qUaqmyOFr^SsjXqFof_djr#ycoa'`zrcw`kcPsKUr/Fsd2retqQ6Y0`Eqj^"
	"q~Dc;_+dpk0s$xsU`rWwsd]r =sK+sd0rXIr)eqC.e[g=ql6jxhc`jfmrJycib8rfvf[s'Ol5b7kAs[wr'wa:l'qEC"
	"^O_Z_8f*cB^Jcva3d7`y^N_)b0a8c8^zc/_9fZdPqi5r'z9^|c8h~E`+rNhr`O_mgKM=h._Ta,s/q`a6^M^w_Vc^As"
	"UZdXr7zqDU`I_EcGqi0`:m9c<gUl&hcWimpeKaSf^_nrs=^xc:ewsA]r:Fsl$qsQs4gshAre3s>oqihsUzqC(qSWic"
	"awby`tl,rAM_|rU]s9+qizs#)rgcqIqr.9rzKql&s#urmyiLqM&qk%r Zs:Lr'grI]r`Di4f_s4*hfc's($sDTqHzf"
	"Kqk]r,QrG c<sF=_qbCr{6qj@h&cLqCbqS;qicq|Ql-jYrMha2rb}rw,s;,hhs^DqKXf4`*qj~r {r4WrlcsV1q[aU"
	"#`1qir`1c0qHHqxxd$r<qrak6h.aGbfdC_%e<hoaidFfT`Sa=aVMmFO-qE-`&c{d#qtzeGr-wjncNmDrn#sGd`NqS9"
	"m0esr>Wr`dkvY,qa7rJ0qN+s,AsBRqH#qmfr)6r[ gKry%s_QqMTqu3r(Zh:dBe5`:`grY+rk%qp6sC|aNsY#qMu_*"
	"q|FjQ_;r@DqrTrm+c#r+Rs$~_;lIqP!amqcvlea<`^sJgh7qJY_]cB_6^x`<a7_R^:a gf_J_sbY_E4-4e51_J`'g!"
	"0_K`I^:e]0M_<aDaab^BeS`e_v_CfT^9_4jaawb;`;_X`!a+_$bw`)grgT`M`Vg'`-aiIDKcs_rkk`ZaT`1ePa7qC/"
	"^NB_,gT`rmJ_Z`/e g)eYj8e.^Er=%m_f,l7s!=s5#sGNbHqYpcGs[eq~:r1>eUrK!rnRdKd!s0es[Es)WsApqk^qF"
	"J`A^#m=lbcA7i5blcfeM`2ep`Ei8_nrT,_{bFdh_}gbkT`efli]`'jra+`.c.lsqE'2gVqa._lg2rSqqk`rvms1+sB"
	"&sTMaFre`s38sY%sFTq[zTAsBzqTCg^qp|mpr:)jVrZ2lsgjs,_sCHaNc@3h.rQmsa_qmr_Vr'9dZs;1sUjr ai6cT"
	"r}`sY4Yjs.3rD=r$XqjwqC;rF-lzr)AqMR_g`Dqdzqth`=cngC_(`C_IeJ[+gbeojnezc@rj+hPqbNs.2_wa^^C_+m"
	"=bUsW'2r'Srb]rv#sUIqq&e|a{hC_db]r[je%d'cvf;s8J`P_r_sr^hqN8q~&`e`4Xss1Orcvazs2ssUyrl+k9m(qE"
	"Ge:d!Iqi~_S@cKjIMe4gxMk8_q^ NqrCscw_!r(8rcrakdU_eb=cV`8Jh$kme+adeO^Od_^3fcsd3qO!gKrCNd%qLR"
	"ra.kugsOtqZ-d,jWr!@gi^Oe(rMWf%^Oh7_;_~f'_~^us%zj,sT$sChsmkqK,bob6BRlqXDgX_UrKtqif`rqQ:qxY;"
	"e4^x]i_qaNaXaLqp8r3G_#laf@qDSrV*aKhSdua+]zf4fX:aP_Da|f9kOe^_ag=h<fgqJrqaQqzLrx8gws9Jg+qGz`"
	"IcWaiqwAfJisr@Vs;<e7qH0ql#s8ir(<rlPqQqs-'qLar!Yqi1>`6r#GgXsCcqEDqby;r:gs1tqW3fGbqqxgbCmZry"
	">r2*sT)h;_XqFfq_yiTrsBqlxb_b5`2aha$kpr<-csruH`Ib4s,zj,g]_ sTusm$U/qEQlUm!regsG!sYksjWrBOb)"
	"qQrcvqi`q|__9_(r;;gbj2s18sNJrD|s3ir|-qMvs(VqSP^OPYsCZ[eqcmrvOqpSre#sA~r0is70rMwsesr4[s2wqC"
	"`lhe{b@q}p`vdmmTe`_od{r[dfs`Sd8eN_~s((i%sL$q[jciqt#r'xa$iFarrT0s30qI r[[q]Zqs^b)r*/r:VrV5j"
	"%m@eRlmsCKs^brgKrTVre2_Ls!JsBsrb6`Ar|+qgtrYoqCS`^qitjGfMh6c8l>s'$d3cHsF@c(s_ r44rF'fur{8bP"
	"s8MqC&gY_zhyqjtdII_B`*M_)_<dga[hI_prD'fTfXd'rtJ`^_2s)yg^Iev_ckKfMeWl*qP>r IrY r+pm`rP6s8bs"
	"Lyf4r<dqaVr1@`VsB`hUrUzsB}q`qr.HQRr3vqFUrCBr-{sAzs#PrlksK{r1rrD)q^7bnd^rk=rKaqSqsGzsioqDx`"
	"8aJEcRs8;qTRi7h-eO_mD_=^ybMdQ_z`-l&hIr^EaC_ri0jhs1#`}gscS`<_j`CsmXr<!r$5` `*rBgrWkk:sCpg}r"
	"B+qVDquCl2s@h`7e!qLcqa$`Vg@dkr@$ro0rSss8ZdNsYzrG`qF.r8niNmlsV,qL7f1j$^sb4f#gFr'bcIr@KrWbr}"
	"zs9.g:a$dyr]>AqP#qrDq]Id~qv@qHmb'_FM_&g#gX/a:dgbA`,gEc^bygX`k_n^trXbr>_`.[3fDb8qt8rUwhWcV6"
	"^Nbe`2qNcs EaB_pj)a1b cMcy7ige(c:d*QHqJpd/atiRiiqzffhr<]r[(gFruog#sCYdZqmJsgzqQ^qt~Hr> l$l"
	"1e'dMr9#rMks2tr.Ie)qN)rctr1gqkmsgir{<qjCsF:rE}qZZql4jXkCr;%s7TiCsY0qT[r*~sHGqcJsDMqLpTThUs"
	"$hmbrFZr msKrr27s^crm_rTrqQvr25s>UsUrr:SqDVqk_fDsBKqP}s8prt`s'2qsAr(SqD<fcqd'f,sXiqEjqd/qu"
	"Ws2SrE>raZ]_qjfs SrNMYFqqobbh=a[rJUricqCjqs=qCrq_NZ)qw|rD~rj|iL_)`#sAqs/rU<qpJk9dKs/br,vmW"
	"_PrQDiZqf3rq`gLs^ZqHMqrbiw`McId@rXMQ(ruF^=s@CdLqHhq_lefr/pa)rIRbzs8UqbPs9 sTTsB|s*$rb1W|r~"
	"hqFAgJa0q}xlJlCrWdl`a<ry@gcsBMr+6rC5fVrmvm}s^pl,qN.rg2TMgZktNvr6Nqq[rtcrTK:qLUsI@rAZrWasG,"
	"sb'qF rqZq}Frf,sRGsg[qZ]cds(BsUJqFFfaac_x9qp]r#gbEcskd;rL _[a{bGrn>iGhvs8GrgFsG]rIWsY/`vr "
	".g@rTebZcqs#nc.qQH^x`nmIlLa0asbx_#_%fUr9%a3rUPa7chb&iOc/aks-<d5d)h}sW3b^r4(rh_qJ:qkah'r-(j"
	"QrQCfDrqysn(r-mrbfqQWrU(sb*qtLrw`d}T2qt _~rT]rf#sCBr/Qqe4`Hrk rWes49qHOqtPr46dFf:rS7k)s,Vc"
	"rdLqr~l7rUdijr{(sKN]ws! dzseWqUpqtRr'Vr==f(s8E^}sYYr&vrSLqC2`dq_Rb*axbFqM5qpY`0bZe+fr_#``r"
	"=Pkmrearvo_=a:s4kb#_9`%sSc^yqGer%,r7qry'dlaEsE5qk!r2(sZks ]`vqE~guqu2Y]r+hra8rw:s.<_tr>|qs"
	"YgRr;RqE<rLCscuqN7d^dbdhqzc`crHeqcqriS_I_0sV r'Qrt3qC>b;d'q`Vqq^;`.r-gqCLs#hsR*`kri<sX|qKA"
	"qa|rW;dzqNWrZxs#:rfeqIMqbhrK~rgIdIsAyF_nqGvf{qetk}sX&qH6rx~sJmq],r Gr7trT$s-os@-rc3qPYqaMq"
	"yp`MkHlhrhfr~&qH~^$f~a~iGaTd}b2^O_-bMix`Nc[_pb1r;p7iur]Lrn(f!cYb8`yd=d7aTdHj]dTs[diR_nqCv_"
	"FcqcMl;e)k8b| e1jv_[`Ma=qL}rk2hAa9s3kbm_&sI]hmqT)sYJqQ4W5eSm7r%3eNrLAlGfPsG}qP<r;:ZIq_sqqF"
	"Oar,)rs,qMprXPr$Gr_Jsc5g|q_<csr)8bSj3qV:r3SqqOrw_r-6sd/r.Dse}r/GqDqaziAq}djsmmsB%qGdrnlslf"
	"qC,qy}rAN`Cs#<qT~r,'sc&qpIrftqls[ s({r@us!Wrbcrv%qd>riWr9drYNqPSqc#rHla{misVYshxr1<qfn]EqM"
	"2e3_er(}rXjsBYensggqe3rL6SPqL6r0Wrlv^~sW7slar$Vr4>r{Tqd)c`r9,rN<i2rlie0k%qKyr,%sm!rXyr,aqP"
	"zs[lqkFq|AriHs8NqWEqx+rjzsR qP|PZglqb{rKqrsisGeqshr[XqRFqt`rjss${k*jZsW+r.8s$}sNfqy!^Or;Sr"
	"W7s3WjKqW$qFdc^b~a@qj!fHdK`{d}gG`jrA4[,rNX d i|s-hcGsCP_:_XsURs*2qbtqDR`jYvs2OkZsY-qJOqqwO"
	"sdKfplkL``dCe9`%gGc.fNhLmtl!_kjI_uk]c#fYe&sTheYqz;aOr7;b0a,rrZ_#r>Frqps*aa{r,dr}KsYZY|r<Yr"
	"ktr~|sF]qD:lLqn_r6kl.s%>_Th1qN[ckql*r,Lb9rPq_rb>s-b=sGcl_]BqtrrOMrdbs /r!5rT`qO`r=!b:mYb/g"
	"%j&sTqrdssn|qGmqz+jWs&sqDP^ydTUxhdqjmr'dfXm&mOg6bKe:f:mus3;sD%b2kJc&qOrrm*qI(h$r-8r>Qibe.r"
	"xNs@DsU0sf$dqrQoq`Wr=|rkAsY}qER_F_IdTa5qome-rOymwr{$sHok&_2@sl<`dr*]ksqNI`#rGos-Tqrhbcb$rC"
	"8dNrhec9eGk!sC(fzqTLscQr68rG.s8aajsVeqP-qf.k,_-r+re0Di1c(gh`1rgpiq_rs)MsDyqLWsl8ra-rtbsKXs"
	"3@qI*j`s26r7us8crv$qxGr-BsjPqDd^Ose9s20PR]Sr11mkr^UrvtnLqsNqC50A201..@-^{.s7fqDTrxyqsOqDX;"
	"!-9..D^O^G-^LA2:^BD=_E^%^|-^J^@_!=24^2^=2M^-C;bcY}6^>5.^F4^F@ _(9^;B^K^/Z|`s^|3.^ ^A^s^E_0"
	"/r+^qIS^K^H=^LB73F^:_!^NC ^8:@323^F66^L@^H @^O^O12E^M0^O/ =^J39re1qLS /=-mBNi^M1--- 9-^L2!"
	"3^N ^N033/=0s&lqMx/.04124^JE./01B^E2 =^FB5^E57^N;2^N^.C4sAg^OqP% :^I77520.s[SqPZ>-. 8-rT1q"
	"Q*.^O1047--031^OO)l{/YIbi60qbwqR<^L6@51^O4-18rh7sUhqSEr+VrK#qST^J082_/.^; :^B3^C^D_$_4^5E]"
	"~=1^I^s^80^F97^F_4^*B^<2D/^/.C^1F^NH8 ^z0^8^A^O8^7_K2^t^8^1_ ^8< ^0^K^{_/^6[6`tA^+.F1;]{2^"
	"w^-M_%^:F^4D3^@_3^2K^7^OJ^-_I-rJrqYs-^L1_&^I]x_0^NH^J5B^D^KB43^N9^J0-^M31.-/C62^O00^O.-10^"
	"NYrb45< B^<0:F_K]u^(J558>^A11>.9^N _*]y8^y9/_I][_4^8^vr8oq`i^:_/7_'^57:^u^,^M^FC9^N1-^O8^G"
	"3^K;6^O-!0316r03qc&2 011rdiqcW^K^N7^N5^N20^M:4HqFq_AqdI:@^s^D]^_@ _>^J^B6^<<^w^}^,^; ^}3_#"
	"^s-8^G^K^w^D:.^<^u <^O6H]J_N730-^K</0 5/2.-.r'RqiT1.^t=6/-6^L@-^L^L2101^M=- 018-1; 3030^M^"
	"O[)a6-qD+ql;.>0.U6g#;^K1^K9^I4=;@^M^C`6[gM5-_8]p^L^F.9^H^O^O_'1^L^MM2.<^M^NL^K:-:^!^x08/1^"
	"O/0;2.B:^O^H5G 8^O^M94^M6.-^2_  /slcqqzMM 13^O28^J^M 2^O2 .0-^M//101_H^O][10>/642/-^0^s0 -"
	"371/7^O^M6^N4^FC^K^O330:F^v^8@^I^;`o[T^s_2]f^GE^4^t^9^JB^K^8^|L^6^z8^7^:^L2B^/M^-^{^O^=^y7"
	"_N]HC^9C^K ^KA^3_J^&^y^C^0[D`f4^>^t_j]u^A^@ 4^D14J^)^FH _,^G^9^O^t^E^M^@340-_!/^0!<4^K^F7^"
	"=^N^F^s^u^M^A^v^71^@2F.J^N^O_ ]~^K.^D<rqdq{.E^M>/^J6^N^O--3 /^O32..4/-- 98;0^H03@12^E@ ._1"
	"][<_6^J^9@_#]td5Wm@^@^N^H0^#_ _6^1._)^*1^61_O^=:`h[:_:^H^B^|]x^~^;^JBB]c^N_I^|^&1I^54^u]{_"
	"FJ^ 8>;a!Z_<^6_L32^'`u[t^N=/^._'J^H^C-^DI^9_!^Frxpr%c WCd`7_0]w^N^N31^MG/^8K^O34 -^O-rTEr&"
	"o9^O^H61^OA15 s5;r'f/777.^K.314^N2 ;bbYX^I^HbXZ% ^N^7_&^E0^HI^O2. ^G.9>01^K^K@0^u^H;^E^N3^"
	"DJ/1[h`>.20-D233 sVkr,+<^G6^G^O:D-^I5 ^v^6_,^!^=^s^OG^K^3_%_+]r_+]t_)]|^}^J^O07]xA^HMf$VV^"
	"y^2C8^4H_Y]#_ 5@3L^@J^64^N^7dSX&]h_4^:F_I])^A_x]v_1]}_=/]h^|]n2>^=_U^+^B^!7_5^#^6:_,-^@4^N"
	"]Q`K^N^4H^C^8^{^@]x_.]vH^&_$^M^O^u^8_;^L^s^>-=^:;qjgr3D>^-3^3_|[l:^L^IK^{5FE^3aGZS^I^EJ]X_"
	"b]|^x^&K3`G[k^@_$]u_Z]q_5]|G^G8^1^@^9_c^M>^3J ^Ds&,r5~3^O^F^K^I_%^C9]x_#;<5s&+r6aD/sbpr7(E"
	"^OrXgr7Cs[Tr7Q^L124^K2/-C 1 /^O56^M411 /.^O-/050378^O3^Lsler9Z6 24^O_.^G83D68^6F^2^96K^N_'"
	"^~^1^9F^=D]~.8^LM@^9<_(s,:r<u^E=^K^0H^N^.^J_K_#]~^FK^/_(2dxVv_iH^E]W=K^ 9^w^B^=H^9^C_(^.6^"
	"AA/_2_4]m^:_M^<^.^4_;]m_>^&^ ^u^G@^%`t[%G_=^y^=_$^=H^9^BA^=^s ]gBI^,`9]}axYa71_4]`_2]k_6]F"
	"_g^$^3`&^D^N4^O^>^;`/]%A^J^+_)._$]P_A^@^N.A8^3_(^FC^7/E^M^<_ -^>C^@9^>I^O[c`A^K2<9^DK=_)^I"
	"I_5]h7^K^K_$^;=^L_#^DK^M_@^@_&^-^L^95B^t_a]4<>/^|^10@^G6^J=7^K92^M19.680^O/-4 . 108H5/^O16"
	"/70=^I<.^N5/;^N D^NqHjrN8^C=^J2C^K^J^LE; sm rNz>^N33^M1^O_B^:G^<0^v4^@`][l__]c^!_-3G^9L^J^"
	"7G82^C2738>4^t00[$a*./-0/^N 2^O8^O-2-^O3^N631;34^M^O=^:@:^K./-6^N; ^<B^O^I=1.3^NK^A;^B3^K/"
	"^EH^M325^KL ^M0^>5^H D-^LB3^I!-;^L67 ^NB^L4 1!^M0/-/-//.0..3^M1 B//!364^L7./-.s&ErY(8^O^M^"
	"v^K^J2 ^EH :>9.^@5F^O^KA^M1:^N=1.1^M ^N715.-269;1aPZ_aF[!_<^5=^FJ^BC=^E0^s^E04^9^N40^s^K^C"
	"^t^G>6^O3>^OAL^G3^K^K^N^x06>5sn8raT/01 :7=0^E-^v06 2^O[j`I5.^I7@^BD 2so.rcc4/6:^N.^N>K^71:"
	"^O^KsD,rd^..-1^N1 ./ /2.=8^K^L^~^4 0C^C9F^{]5_<]k_4^I_#^@:^C4 ^K-_!^K2^=:^N^A2^M]{_/_%^F6."
	"^4=C7^y.^ ^O_p]L27^//L^F^8^~/.^ED^D=:^G<^K^A;320^B:2498@4^E4^F26^O^O^M6/.0^MB^J51sbzrj^.--"
	"/7^LF^I^E_.1^2/8^F<^~^2^H^u^F1^0@_#^F^ _'^=JK^D^E==^F^=`)[n8^~^+^6<^y02^JI^G^>^u0E^N^AK^=^"
	"9-C^uL^$^J/5^D^K3^~^F^I3^K K^A^O>^O3[Z`@sAmrn~4 .1^N. -^H8 `3-62!- /^O/2 3 ^N<5/^M0^O035^O"
	"^M47.2^E3-s5!rrS /6^O80.51s[Brs7^N221 .02C^L:^L71-0.16^O^N1./-0-^OB^H2>qL{ru%_!5^D/^6B^L_&"
	"^5-^{9^J7HsTvrve^HA^N]W_j^M^G 9:0-^F-J^E:^O]i_'B204^J0.-^H://3^O^@=0 2> .. .-...1>-8^K8E^O"
	"0^M00^N1- ]p_61 1:0E^DH^A_(-^L^C^s^O2`0[y^H^N^4^y^%^~]}_P^O^1H^O:^IC^E^9^L^; _bA;^E.^D]8_`"
	"^I.^B_,]k-^|^8K_@K^'^2_!1^$_&]c_);^(=GA^N]I_p`gZY_g]j=aZ[1^C^D_5]n@^6^,^5_65]i`,]D_K1^/_-^"
	"D^=K^F^A0;]x_u^-^E^t @^C^F^O^7_7^t^E^@^I`Y[Q5^|^u^34^IJ]r^x2_C]IA^*2=_,^AA^9C033^GI<4^H^C^"
	"L7H^HB:9qC|s&k635^s;1 ^0 ^{^IA-^9Eb9YH^z56.^C^L@^t^D-^H.^HB^H/^;<^{6^H/^9/^A_9^OE^#-^w^2<1"
	"^:^J;2`2]I^M^2^~H^B.;sUes*QE^>@^O^E_'.^=_!^N^A^H C]q_20^O8^O;0.^=@4^N;20/4B^ML^&3_+]j;A^KH"
	"^:4^:C7:^B= ;/ /H4^J^H^D5=3^N4_#^*20 B.^G^K-@]~_6^N3^N4^M00.200-4043^M1..3.- F- 58/6>^J^L:"
	"-3<6F^G^D-_'^A^O^F^t^M-^u^I^@@ ^D4M4^ED<3^D^M8^t]y-A^6^M_$^K>]t_(^J24>sX$s430>^9E6.^O^K80^"
	"O<^D8.04.7-/ .. `72^N4/--0857-32^L0. 1^7Hq|!s8K^M>^E ^K3=^I^t^O^G^t^M 4 0^M3^N.sn;s9U]g_:-"
	"_E1/-9D^z^L^LA6^L^F:^@K ^D/E7 ^FJ ^B:^t^C^K/B^M-./^H<6^L]w_,^BM^L501^N^O2^O4^N.0<^G6/B^:82"
	"..;3E^O^@>7^K;^M2^J4.^L^AF83^N7^M^L9^M^M3401!_+./5-3^t6^M30`/[v<^D C/7^;<^H^EH:^O/]l_K#]i_"
	".^ED-1522sU5sCy;^K/^O5^O1E2-/^~-q|NsE(^x;2E^NF7-6-/5^OE^N^IL4/^K6^O11 3-014-^JM^I ^y^0AD^8"
	"^L_A^I^=/G^3_A]V70_@^J^M3]l_j^9^N_%^w^:_=^9^:4^H4C^K1M/H^B^7_N^L ^6^vI <^M^C^:F^C^HH_)^J^O"
	"^@/4^w^E5^;E2<^BC0-^L7W6dp0-1^,^s-.^Na>0.5-- 23^O1:^O^N07rETsRf5^O4^O-10/^M_221 >5.^L^}^4-"
	"^O-27^JM6^M->^M5 ^N/-- A^M^N/s/&sUk_$]u^u6--6^K.^N2.6114/ 1--^J2>//--qPLsWA137^G0^I70/ 77^"
	"N^M; :.-.<<sn<sXmrdvsXq^OF^M^}^;^MB144^LL/!.^O_*0-09^O.^t-D14-/4^L 1^L7-: /2^L6^K1 ^J4_5 8"
	"3 9^t^L-^K^IH . 4^M49^F^,_*=79^M^N.^KC^H9^L3..^O0-^O_6.7/:-- 5 . .4^L.1^M1/6=-0. --#/ .=^O"
	"7^N .2HK^@90 3 3775^>84- <^O-^@8_M]e^O^O^v^O^E5^I^J-5^H^J^{^<5^O^M:C^:@^HH12:-_d0/E^O^2D.^"
	"u^L_~[}^L^v]~^M_!^N^O3-A 1^<^O4EC^N^u]q6L504=^M^J^M-74^CC^J^v^=2-9I ._K///2. 1.^L73/:^B.sW"
	"6sls-!/3-^O.0.20- --!5 rXAsm`76=73-:^L!0 0^N8^K/K2/q`Er3AsC`rQsqMkrJ*n~n~n~n~n~n$ro+s.RsKo"
	"[Hs!cqH!rGbr)CedsJ|r+Uqt*qCN`QG/._)I_/^H;^J_,_h^1^,K^y^{^ _F_T^3_gF_,M_ ^z_|5FG^v2I_BMK^|v"
	"UmqUJ^=K_J_|cW7_:H^OvUn qaX@_M_;3-1_4Bb}__rT(qjV@_%_}@_._%^}vUpqnP^|_> Cb0>_&_D^x_t^y0_H^G"
	"_>^ K^w^I_]_p`*b._`_0_$_u`JA^w]{^v^@1_4^B-vUqr*(^w2=8_.@vS>r,e_I`.[w_4_6`!vUrr2=vUsr2o_=_B"
	"_.^*^~6_X-a-_^I^{^8_`^{_x^7^xB^t^z^J5_0^t]xA_x`b^~_3;-M_Q^w_X^E_L^9 vUtrJS_0`K8_ZvUurO<_97"
	"88^>_(^=_$/^O0_'^xB_V_caOF-^M6vUvrYuqP(r]:^~BB`NvUw!ra=vUzraEasBvU{re$`KvU|rkZ@_O^8_)_qa0_"
	"NvU}r{S_UI_;_!_F_a`61=vU~s% vV  s+Qa)aY^v_5_ CMvV#s3a_Q^}bQ/J_XvV$s>EvV% sCn_lvV'sEd=`K^M2"
	": ^F M5^J_#1^L=6^H^7_ _3]} _d^@-^GvV(sJW6^C_F^L^)vV)sKD^0J^4_c^6_A^sDF_,@.b)vU9_AsU*=_y335"
	"--/a=9vV+ s]0vV-s^L`H`!.`0^MI^s5_8bP^KvV.sjx`Pn!p!%)vg#-[*^Kn~n~n~n~n~n~n~n~n~n~n~n~n~n~n~"
	"n~n~n~n~n~n~n~nMp!%)^6)vg#-[*^KpQ`p '6aPro+s.RsKo[Hs!cqH!rGbr)CedsJ|r+Uqt*qCN`QG/._)I_/^H;"
	"^J_,_h^1^,K^y^{^ _F_T^3_gF_,M_ ^z_|5FG^v2I_BMK^|vUmqUJ^=K_J_|cW7_:H^OvUn qaX@_M_;3-1_4Bb}_"
	"_rT(qjV@_%_}@_._%^}vUpqnP^|_> Cb0>_&_D^x_t^y0_H^G_>^ K^w^I_]_p`*b._`_0_$_u`JA^w]{^v^@1_4^B"
	"-vUqr*(^w2=8_.@vS>r,e_I`.[w_4_6`!vUrr2=vUsr2o_=_B_.^*^~6_X-a-_^I^{^8_`^{_x^7^xB^t^z^J5_0^t"
	"]xA_x`b^~_3;-M_Q^w_X^E_L^9 vUtrJS_0`K8_ZvUurO<_9788^>_(^=_$/^O0_'^xB_V_caOF-^M6vUvrYuqP(r]"
	":^~BB`NvUw!ra=vUzraEasBvU{re$`KvU|rkZ@_O^8_)_qa0_NvU}r{S_UI_;_!_F_a`61=vU~s% vV  s+Qa)aY^v"
	"_5_ CMvV#s3a_Q^}bQ/J_XvV$s>EvV% sCn_lvV'sEd=`K^M2: ^F M5^J_#1^L=6^H^7_ _3]} _d^@-^GvV(sJW6"
	"^C_F^L^)vV)sKD^0J^4_c^6_A^sDF_,@.b)vU9_AsU*=_y335--/a=9vV+ s]0vV-s^L`H`!.`0^MI^s5_8bP^KvV."
	"sjx`P";

static const char packed_jis0212[] =
	"n~n0fH^>WjdI/WJdT^OveXo*k n(UL0EnG^K^@^O0p 3o!kp 'n~n~n~nuo*m-!Ln ^1n -In ^3n$I#G]s_/^F6^N"
	"^4JnD_'*- nD_6*- n~n!SO_=n Bn 7n :^Nn 6]9_on @]#n03^|^._*5-05^N4-]Y_O]7_}]CnO]p^O/^N_3`d[:"
	"/]n^N_6-/]h_6/]h^O.^O_D^L^L1n /-/^N/]U^O.^Oa<[j^J/^J7-./^N3/^N]7-^O/^Na8]*^L]4_t/^N/-/^N1^"
	"N]#^O.^O`(_[]I^J3^L^J_d/^N^L]K[r`2^N./^Nn'[o^O/^NM`d[:/^/^N^u-/^)^u/^)^O.^O_$^L^L1`u[/-n -"
	"/]u^O.^O`{n [d/^J7-./^N3/^N]W-^O/^N`w]*^L]T_T/^N/-/^N1^N]C^O.^O_g_[]I^J3^L^J_d/^N^L]K]3-_m"
	"./^Nn~n~n~n~n/qC'- 218/ /..!06 ..54-20 6 /194 1=5585 0!12---3#- 0. 1.!-A._!^!----.--1 - 1-"
	"--2/2--.1#. . - / ----!.- / >0--#- / - -!-.5/-9-5 -!...---./ .#/02-- -6!. /--.!/-1 - . ..."
	" ]w_9- -//!-!-0 -$30 4 ... .0--. // -.--- 1-0//0.!.#^3J2--#0/ / ---!. 430/-- 20-D0 2.50/-5"
	"6--- .12-!-.1/.4/!.5 .8 - -514 .24/7- --.!034!2-.0-2-#--3#3 1!- -./--/.-.-0 0/.!-/ .- 4.2!"
	"0-0. - 1-!-!.-.2!/5^O9-1--2 0200/ 10 0//.1 /.- - -..05. -0. -1 98<221 -0-. 9 .1-:/-- --- 1"
	"6---. /// 1.-0 - . .1-!/2/. =5-.21-#/. .!2A 2. 0!/1- .. 2- .- .-E- /-1 -#.7 408--..- -.!/ "
	"../2841.-.%2>/.----!-!- -.---05-#../-- .: .. 4/ .!2#-!/-/22/!/ ^L 7. --.$4^J-4 5 0.-0/0 -."
	"-#/ -- / 4!1 1 0;.- .-$-!--#-.-43.- -#-^D=!.705 /.13 1- -/.0 -0!/ / ^'^| 9.!1 10215. - 05-"
	".. ;/.!1#- - /-2.!/.3 =^H110 ----/./ 25= 0 1!s&Wqb|/- /2 .- 4/.7 1--!--3--.. .- : -/.-30.1"
	"#./.-0- /-.06!/ .2 - -.4/3!/ 60 . -..@ - //040--15. .80....-!-000!-.- /0--26-/00/2 2. 2:I^"
	"4--//3645 1/351 8#-.-//- - -= . -- 0.-/ 7-2$1:-.4:62 /..- ---. ^t -1 /!/./ 0#5 -0.6- - ./3"
	"- 0:-26^JC. -8020E^H - 5.0/-. .-8^L3^AA#-1..4 / --0-3#/-/ 2/0// 5//0^N5 2/0: 2210- .2 9^J5"
	".480^I30-. -5-$-;6.@- .--0-5!21^O.. - 2-21C/!16. /#/. --/-0-- / -1.//.0. .3.- .-. 6/-21 00"
	"/^I3.!27.!-0$5. 1!-#. ./-6..1 . -0041-62!.0.- 1/158 ./--/.--.0 /- .3 1/./-/#. 0 /-- /.8../"
	" 00.-/$- -.-/3 0 /!-3/ .A-711. .!- 2-0 / / - 0.-.6 ./!7 12#- 0-^L2 -=- .7-2/- /--9/0!-1/!-"
	"-/-34-/2.;#B-6. ./ 052 /;3-3 1 1 -...-< .3 ..0#-/ ./!/.5 1 /. ./ -.-..1/ / /1-2!9//.1.-!2/"
	"00-1 -. ; 1--/1--- / 0 03-7/-#1#-!-51 2-3-3!2 -----.-/25!00#-- /-8 / ..0-//-./!0/ -.-. ./."
	"0.4- 1/-2--6 2/:.//03..0...3/!6.1 0-/--2<-- /0!// // . 2 .#-.#-- -1^N40 /-0^M4!- / `1[x!=^"
	"E-5^H!-0^L:!.-2#. /4/ .1/ - 0/- 02/4. -76-201./-<62- /3 341-1-01.5 --.- -A!.1!_/]t- -. 40-"
	".005-/ _O]o0/-4^O0 -!-3/0 0-4- .;.$./#1---9---0--/ //45./.!-... 3.-#. / 0!4. 1 -. F--..2./"
	"04/3#- ./!3 / 80/-4/ -.--3 --4.40 6.4 ---4- -7-/0..//3--./. 1 . /-!. 04..2-6.-. --15-!11/!"
	".4!2.^O///!1 2.0/!5 0 . -1!1/.1/. .1 0/2/.0/-0.2/.-03 /.=// - 0 .!-3 / 0 0.5/2-. 2.1-1.- /"
	"/ --212!/-0- / /6 --.-0- :--0-- -5!-6 - /.<--9/2-#--/-/2-- -/-;../ --27![G`` -3..D2 -/-3 7"
	"105 --!=-3.-/-0/-/ 20-- -./1 /-1//F/06/.- 3 . -/-#.0!/ 063-;11221 .-3/!-/ -.!H- 6--2/-- 4-"
	"- 6. 0 ..0 ^A^s-!/- . . 1/< 0/ .!.-!-/0 0#1!0 14- -;/5 20/. .0!154.70.-.2 /#4 3 ^@B 2-2 3."
	"/ 9$.420 ..>2-#-/3B4$/ .:-6--!24/!. 0-0.---3<20-013 0-8 - 20!.2 2.. -H1-2!5/..-02/0/ 3!-4!"
	".- /---.0.. -1 . .00/ 0380 ..5.1-.4 -219 1 ./- -/-0 0 0/-. /0 .0 -15.-/-0#1 -- - -1-./ -- "
	"3-.-- /-!-. / -3--. -1 .- .. ..//-. -6 --!--!...24 4--)32. - /-/ 010/!.- . 9 /!-1#1!-.!-.-"
	"#. - ./-/4 ./.0- . 0/- /01!.27/ 4 ..- 02./#./ 1--02 -9-3%./6- -/.1-;10!.-1- 30.!..0- -32-!"
	". --.. - .-#0- ./0 -.!-9^F -!/-5/10 3!-.8/2 31!- -&-.;///- -1021-// 0../1///- -- -110!0!./"
	" /. /.!./ 0-!--..-/-!1../3 2!/0.0./ -/4013 ./0!/-/-/ ./.5 ./ .7/!5 -0-7 . /-/5-- - /-/7/70"
	"0/4^L!0// .#3--3!.-/ - 9^G/!0/3 8^F . /21/5--!0--//. 1--0!/ /-./. 6--22- -8 0-#-. 02 -/-./"
	".2-. -00-/. --.0 -/2/1 /- -0/1..1/-- / .!5 - /4 .. - 0-..3.1--. / 0 .5-.42-/- 5..-.58 - 0."
	"2- 486//-!-$.4-!1226/-. .-. /800- 00.-02. -. /#0..-5- -!8-3- .!--.#-.- - 5-00 -/0- -. 7/6^"
	"L!1%.-/-/ --2. 4 305-151 .!.0.!/-/!-- .4.-59/!1-!.2 0././6!- 1 0/-/- - 3-.13- /-!- -.!/0 1"
	" 3 .4. -4$1!4-^x^1. / -// . 93 /-0 .2 / -/.40 -2--12- .1. /01.0 ..//.-. `5^O-!/ .3. 3!/-#2"
	"/7#6--!0 00 //.23. .01 7//-./- .3.!3 -.!-- -2#/-1--/ -- ---/H/-2//7219-3 /8 :0-.- - 38 -- "
	".. /036!/--/.0/00-4-.-104 1!/-35:^D!0.3-../7/-2;^H-0/ 1-/- ..2 /!. - /- .7/ 0 ./ 15-14#0. "
	"-01/./122--!- .- /..--- 0 - .#/---..-- 25001--/-.-2 1 - 1 - _<]t-!- 5!-./.- 0!.1 ./!E30- -"
	"--20- . -!4 -.=!2-1!.4] `,-7- .00/0-//]@_w57- -.-- /-!-// -.1. --/ //8 -43-!0-.1. --0 /./4"
	"6.0#0_.]u -0 /0--7-/#-. // -424$...&-2/5!---/ .- ./00- -.-8-!/#.0. .^.^|-0 1-01.1. / 3 -!1"
	" -..1-8--- .-/7 .#/.$0..1!.>/0---00!0/-!-!1!--7 .-.-/.--]M_g- 2 -/.!. 00 --01 - 2 -!-.-360"
	"/. 5- 43&- /.--!0-./0!./4 -2!/2 . -..!1 -/-0-0--..!04^I!/-!- 40 --.0-0--.#../ ---. /033-0D"
	"-!. 3-;. -5$.!3.43!/-502!1 -!-/1!3!./ /--. .1.0.!0!3.-.-0#7/./ 1 . 06/#0D$8/--/-../-0 -3- "
	"- 4----0 .1-1 -.---/ 0.!/ //-9!-!.!..0/ -/ -13-0 /. /.0.-!2-!-1-8//!1.1 016- ^:^t.201$-5!0"
	"^D<054- .-.. 1--0 2- `0 / 2---/-- . .-^L5 -- /1- 0.3 /0- 1- 3A 6 .-/2^O///2/. -.- 1 --140/"
	"_=/.-<.-/0. /4!10 ...---00#-/.. --6 -0/]y_( -4/.!01.-5#. 5-.#/. 5-!02#. 2. -!3!2 12-.0 - /"
	"0-/ 0-0 0 - .3-.371- 1- ^C>-0 2 1!1- --- /!1#.1 -/3-$.0 2_+. .!: -1- 0/ -.- -6. /1./ 0./-/"
	"/7.8 1^K- 1 .3/ 3:-0/ 0//07.. --0-!-0!.6-!-2:^B0!- 8-!. -1^<^u^E/ /5!/!-0./-!----0^M /-0 -"
	".- - - 1/ 2//-!1..120!1-- //.-!.1.0-/!-#.0!-. -9 .- /1 / -%1---. .#- -/- .-/ 1#-1!.- -!---"
	"- . ..!-2 . . /-!0!0$-!-4!. /0-1 / - ././--#-$-#.#-.--!. -!--- /--4-/ -10/. 2#-. -- 4 - ;!"
	"2!.- -/1 -- .-!- -/.-#1- --......- --.4!/^>D.#-$11.- ./ =^N - -/ -/ /!1!3: -#2/^N1-.--4/.."
	"--0.-!- =^Oa0 01//!:!-0.- 3-/.-2- -0#1 .#/-_* /-!10-/#- /<--!4812 - -#030/.-0!.0 /2;3qoesU"
	"g-.!51-43 -/< -/!04-9-2/ 1- - 3/./0.!.-- 47!- / .5-. . -!-- -. -- -!- ..!/ -^K1.6-.. -8.:^"
	"D 1-1--..0.!- -^@E1..2!. - 3 - /-_2- -/. - /.../A--!.4.70 4/!.!../ /1$/#/ 0!0 1/ - -!_.--2"
	"5!./ .-/15 0 --4.!// // /!2 / 03--!.1 0- -:^J.1!-..-2_A-- .-!.-. --.-1--.!/ // --.1 -/ .-&"
	". -#--/.- /10-1!-- .6. 4!/..-- --$0--!1 /#-!-- /1. 3 -./!0 . - -1 1-2 0-1-. ///#.- -4/-0-!"
	"--/ .$2/!1/-!/ /!. --.-!/1 ^B:^M1--.-/_`70-=^G:1 /!< -!1-4^H0 /.4 6/^O./!01 / -0 -/. / -#4"
	"4--.//..//- 5#./!0---.-. 57^H02-!. .. _Q!/-#-2 2-..1//-!.!<-.550.0!-!..2. 11#-- -!/.// /- "
	"-.- - ---$7-#-. 5 /$--0.=#-- 2.!-";

static const char packed_euc_kr[] =
	"t3] - 0$41 -!-&./!n&#. -!-)--%-n&!-!-,&. - .-$.0 0!-!-&./%/- .&./!- -!-!-'--'. - .-- /-.$."
	" -!--$.--%-!-!-'- .%n&. -!-&.--%-!-!n&-'--'. - 0#/-.$. -!-*.%-,%-'. -!-&.-'-!-!-,&. - /%.-"
	"-%-'n&,'. - .- n&#.-.!-/-!--$./!- . -!-&./%.%-,,,*/-!-&./%. -*- --%-!-!-(n& .#- -,&n&(. --"
	"-&.-/#.%-*.%.,&-%-!-!-&.!-%-,,!. -!-%/-.$-&-$n&&.%. -!-&. n&-&-!-!-&.)-,,!. ----#/--!-,,%."
	" -!-&.--%/- 0$.1-/ -!-&./%.n& -!-&-#-*n&,+..!-.#./$/ -!-&./%. -!-&. . -!-!-,*. -!--$.--#/!"
	"-!-*-,#n&,'-!-!-n&&.-'. -!-'---%. - .&.--%-,&-&-,,!-!-!-&.).%-&.!-$n& . -!/$.-.!--!-!-!n&,"
	"$. -!--$.--#-/- 1!/1!/ -!-&./%-,,,,&/- ..#.--- -. -!-&./%-n&!-!-*.%-!-n&,*. - .--!.---- -!"
	"-!-,&-,&-&-!-!-&.-'-,,!. -!-&.--n&%-,&- n&%-,'-%-!-!-'---%-!-!-&-#-%. - .-$.--%-,,!. - .&."
	"0$. -!-&./n&$/ -!-&./(n&,,,,%. -!-.#./$/ -!-&./%-,&-,,*. -!-$n&'-%-&-%n&, -,,!-!-,,,,!. -!"
	"-%.#-,,)-(n&,&-!-!- n&%.!-,,). - .&.-'-!-!-&.)-!-!-&.--%. -!-&.0!0 -!-&./%. -(n&%--,'n&,!."
	" -!-&./$/ -!-&.--%. -!-&./%-!-+--'. -!-&.--%-!-,#-,%n&(-&-!-!-$n&!.--%-!-!-'---%. -!-&.--%"
	"-,&-&-,,!. -!-&- --%. -!-&.--%. -!-n&&.-. .,#n&, . -!-&.--%. -1$.-. -/ -!-&.0$.%-+-,,). -!"
	"--$.-.#/ -!-&./%n&. -!-)/-#-%n&,)..!--$.--%-!-,!.,,)-!-!-'---%-!-!-'--'/- 0$.--!-. n& -!-'"
	"--'-$n&,*-!-!-,&-!-!-&- -'-!-!-&- -,,+. - .-$./-- 1 1#.--!- . -n&!-&./!- . -(n&#-,,, . - ."
	"-$.-.$. - .&./%. -!-'-/!- -!-,*/-!-&.--%-!-(n&&-&-,n&&-&. -!-&.)-!-,*. - 0$.--!.-&-*-&-,,!"
	". -!-+-%-n&!-!-&- --%. -!n&-&.-,,+. -!--$.-/#. -!--$./$/ -!-&./%., -,,,!. n&- .&- /%-(n&+-"
	"%., ./,,). -!-&.!-,,,,, -(n&,&-'n&,-%. -!-&- --,,,,,,,%-,'-%-!n&-!-&.,#n&,*. -!-&.--%.. 0$"
	"./!- . -!-&./%. -!-&.--%-!-!-&-#-%1 ..#./#-. -!-&./%. n&-!-&./%-!-!-!n&)-%/-!--$.--!- . -!"
	"-+-%-!-!-&- .&-!-!-&.-'. -!-&.--%. - .&.---.-,$n&!-&. -!-&-#-n&%. -!-&.--%.%-&- --%. -!.%."
	"--,,). - .%/--#-..!-&. .$/ -!-&. .(n&,&-'n&,,!. -!--$. .%-!-!-,,,,!-,*. - .-$.!-%. -%n&)-&"
	"-)n&)-&-!-!-&.)-,,!. -!-&.!-%-,&-&-,,!-!-(n&,,!n&)-%. -!--#/)-!-!-&-*. -!-&.--%. //#//!.. "
	"-!-&./%. -!- -#.--!-.!-!-'-).n& .0$3--. -!-&.-- n&$/-!-.#2!0!-!-&..&. -!/- /---#. -!-&./%."
	" -*- --%. -!-&.--%. -!-&.--%. -!/$.--%.n& -!-&. .%. -!- n&%.!-%. -!-&.--%. -!-&.---#. -!-$"
	"-.-4!-!-&- -'. -!/#/0!-. -/-$.0$. -!-&./%. ---&-#n&-%-!-!-, n&%. -!--$.-.$. -!-&.--%-!-!-&"
	". .%-,,!. -!--$.-/!/%-'---%-,&.#n&!-!-!-&.--%. -n&,#-%. -!/$.pKV!o!~o|K o!opKYo!to|:d7ve5p"
	"$9WT . pKk ^C)o!x^wLp$_/ ]fBo!wo|X `i^yvg  /p/L^NR#_z_bZT0_N^Ao!no|bp.m^O]s/^O^I^O^*^O>^O6"
	"^OQw^N - pKjp$i ][^t^/D^F ^+._p ^K ]S^O^N vg#u(N-%-,&n&-&-,&n&(. -!-&.-'-!p#+-^}.o!{veXo(f"
	"<0^M^OWWdKW=Jd8p$+^2^No!ko~x[.m~^O^G^O`F^L /-^LR{gC^*^~ ]n= .^O^O.`W]S^O9-o!}o|F bT--^M-kz"
	"^L -pRQ]Ip 'pV(p 3pV#Bp 2]6o!un7u)S!-&-*. -!n&-&.--,$n&,%. - .-$.-. .vdW,,,,*`C[`,,(_{u*e "
	"--- -#./%. -!-#n&#./%-!-,n&#-,,$pNt,,,,,,,)u+r$. -!-&./%- n&,&-%- n&,%-,!p!%)n%^6)n'o*x,$-"
	"&n(3,$-&n&u,w,'. -!-n&&.---#.%-&n&$-&-,&- p+{-5/3^L3;^H;3]r-7/3^L7;^H;;^$:^I:3^->^E>5]}^O4"
	"^O^M^O^I^O< - / - . . . . . - -'n:u-~$-!-!-&.'n&,+-!n&#. -!-&.!-%-'pUS!p $pUV^}^.#^C)^y]p!"
	"_3]f _2^. 3)]t$_)%]~$p 7pV  ]v!_=^>^7!^}]{#_$^C.^@1>^9n/u/&*.,!n&,'-&n&,(-+o#/5^)_qn 7n 8-"
	"]C_o[q^u_}^3n pR1,,#p+J,, ]!,!o#&p f o#%-p n#u0!,!-*n&$- --,&n&,#. -!-&.!. o#P^|^._*5-03-]"
	"c_O]7K_^^3^NpQ-,,#p*s,, ]l,!o#!^I o}=6-#u1& / ---&.0$. -!- n&%./%-!---&- n&!-,,%pL:,,,,,,*"
	"n+u29#. -!-&./%. -n&!-&.--%-!-%n&)-&-!-,pM>,,,,,,, n(u3H!-%. -!-&.--!n&#-!-!-+-$n&,,%-!o,="
	"%^;A,, n/&H^4,, n-u4O!-&.--%-'n&'-*. -!-!n&$.--%-,&-n~n!&-!-,$n&&-!-!-&.--$n& -!-!-&-#-%. "
	"-!-!n~n!$.--,'n&,!. - /%.-n&-%. -!-&.--%. -!-n~n!&./%.,n&&-,'n&,!. - .&./%t3Z ..#1'-$./3 -"
	"!2 ./6-2//@ .. -1 -#.#//3 -!2!-. 3 -!/.//4-4 .. --.!-- 1 ./-u9# -!-&.--%-!-!n&-&./%-+n&,#."
	" -!-&.--!t6R --2//4. 2 ./3 --2//4-4 ..#0!-- 1 ./7 2>4 ./3 -4//@ ..!2 --2H .. -1 -- /-!-/-1"
	" -!/. ./3u:2!. -!-&-#-%-n&,'-%-n&&-,&-&t:O-!2 2_#!-/3 -!2 .7.-2//6 0.H .--3 --!0 27 2 @2//"
	"3 /2H ./2!-- 137 2 ./3 .3//3 6H .---0!--u;5,'. -!-n&&.--%-!-!-%n&&-%-,'t@hK ./3 --2!-.#1 -"
	"$--!./3 -!2 ./30^t - /- 0 -!1!./3 -!2 ./3 . .//D ./-1 --0!//7^u//3 u<;%. -!-&.--%n&-!-!-&-"
	"*. n&-!-&.!-,&tDz4 ./4--2 .. 3 --2@3H//3 6 23 /2 ./!1 -- /-//@ ./-1 --0-!-.$/!-$/!./3 -!2_"
	"+!-. - 0 u=G,!. -!-%n& .--%. -!.%./$n& . -!-&./%-+tI4--.- ./3 -!2//7 2/D .. --/ ----.//@@3"
	"//3 -4H ./3 --2@3A2//4--2//302 .. -1 --2H .. 3 -#1 ./u>['-,%n&,$. -!--#n& ./%. -!-&.--%-!-"
	"tNB -!1!./3 -!_2 ./- 0 -!1!./3 -!2@^u ./823@H/_' ./2 0^tH//3 /^t .. 3 -4//3 6//3 --2 ./3 -"
	"#/ u@i, -&-!- n&,). -!n&-&.--#--!-,!tTs ./3 -!2 .:-^t ./3 -!1!./3 --2 ./3 -!2/8-4 ./3 --2/"
	"<G3//3 --2//4--2 ./3 --2@3H ./3.-2 ./3 uAo'-,%n&)-!-, n&--%-,,tYz-2 ./3 -- . J ./3 --2 .-$"
	"1 -- .-!./3 -#1 28^t ./-1 -- 0!./3 -!2 ./6!-0H - /-1 --2/; ^tuBm . -!-&.--%-#n&,#-&-#n&,+."
	" -!-#t_B/4--2//4-4!-.#1 --/- //4-4H//@//3.4//3.^v .. -1 -!--.$.$0 --/. ./3 -!/. .8^x .. -1"
	" -uCt!.!-%-!-!-&-n&#-%. - .-$.-%n&!-!-!-&.). -!- tcl 1 .. 3 -!2 ./4-!/./D!-/3 --2/;3@3 ./3"
	" 6/D ..#1 --/ -373H ./82//3.-2 ./3 -^v ./-1 --!0 .uE($.--%/-!--$./ n& - . -!-&./%.#n&,,(th"
	"o-1 -!1!./3 -!2 :^y .. 3.!2A2 : -!^t ./3 /_2HA2 ./3.-_OA2//3 ^x ./3 --2 - .#1 -!/. ./3 -!2"
	"uF;,%. -!-!n&$./%. -!-&.--n&%-!-!-&. .%-%toh./3 --2//302$. - 0 -!0- ./3 -!2 ./3 -!2//82!-/"
	"-1 --/. ./82//3. 3//3 -4 ./3 --2 .. 3 --uGM-'--'. -!-!n&$.--%-, n&&-,, tsA- -@3 ./302 ./3 "
	"--2 23.-2 ./ 2 --^t .. 2!--0- - /3 . 1!./3 . H^t ./-1 . 2//_'D .. -1 /2 .;3@3/uHR'-!-,!n&("
	"-!-!-'--!n&%. - .-$.--%-(tx{3 6H ./3 /2@3H/^~2 ./-0!6//37 ./3 --2 .!-!0!-!/ - ./3 -!2 ./.0"
	" --/- //46 . -#1&--uI]*-,!n&,'-!-!-n&&- -'-!-!-&- -t}J ./3 --2!-/- 0%/#//3 - 3 ./!-.!---0 "
	"./3 -!2 .7.-2 ./3 --2 ./3 --2 ./!1 --2 ./3 . 2uJa%-!-!-&.-%n&,,!n&$. -!-&.--%. -!-!u!O./3 "
	"/2 ./3 --2 ./3 ---0 ./1- --'//3.4 ./!0!-#/- .-!-1 -#1 ./3 -!2 .--302//@ ./-uKk- .--%. -!-&"
	"./ n&$-,'- n&,,(u%c -- 1 ./3 --2//3 . 2H ./-1 --!/!24--2@ 2//3 --2 .<2 ./!1 --2@3H ./3 -4/"
	"/37 ./3 --^t .. -1 -uLu -!--$.--%. -!- n&%.--%. -!-&.n&/%-!-!-'-). u*[ . - .--.0 -!2 ./3 -"
	"!2/<^t ./3 -!2A2@^u ./3 ---0 273@3//3 L2 ./3 /2@ ^tHH;.-^t ./3 / 0!.--3 -uN.!-#- .--!- . -"
	"!-$n&%--%. -+n&!--%. -!-'---%- u1=!1 ./3 -!2/--30^t ./3 -!2 ./3 --2/;3/<2 ./3 --2//8^t//3 "
	"--2;7 ./3 --2@3/D//3 --2//302 ./3 --uOA-!-'--'. -!n&-#- - --%-!-!-$n&!-#-%. -!-+-!u71 ..!2"
	" --2 ./3 --2 ./3 -!2 @^t .. 3 -!2 ./3 --2//3 -!2H ./3 --2 ./302A23@H ./3 --2//82A2 ./uPO!."
	" -!-&.--%. -n&!-&- --%. -0$n& .--!- -!-!-&.!-%. u<R --2//37 ./3 /^t ./3 --2 ./ 2 -!2 ./3 -"
	"!2A^t ./-1 -!2 ./3 --2/;3/D ./3 --0-/DH/:-2H ./3 --2@lz!-&.--%npNvH ./3 /2//302 .. -1 -4//"
	"3 6 ./3 --2!-/-1 -!/. ./3 -!2 _* ./3 -!2 ./3 --2//3 . 234-4 ./3 --n~n$2A^t/D//4-4 .. -1 --"
	"2A^t//3.4//3.-2//3 -^v ./3 --2 ./0. --2 ./3 -!2A^t ./-1 --2 ./3 --2 ./3 -!2/n~n$/46 ./0. -"
	"-/. ./6-2 .:-2 ./4--2//4-4 ./0..-2//302 ./82 ./3 --2 ./3.-2 .-#2 --/.//3 /2 ./3 --n~n~n~n*"
	"qFO_)`m`Jc*b._{_eaak]a0r*<al _+grrP+d'j{r{,^zm>_$c1e_aCaia&s_&qNnav`'qw;a5r8krP8rv7s07DsRE"
	"qG8eSqay`R_ck/2gcc~h=`=`*rDQrW3`UcoaOa2a_j}cU.s3UsR4qD4qX6r+Qr@_r^bdss <kYXZsX qPRjw`ulki."
	"`6_WgUe:e>i2rSo`2am`fmwsDYhZ so&n~n$qQAqlsrT+ruUsH{gmqO0q_{cXf4_kc#_x;dUr:UrTu7rjN`*_1c`cL"
	"`fh'hic_sK gfserqE8^}aPckq`fqyQ2^{i,kUlprUC`z_DkUrzSdNvRssLrciqWwqi}QOvRtri~fwsGKqI%hKqkhc"
	"&l1`3bL8r@JeXr`bs;h_4vRusD&cL`KqDH_mbOqpTa7d3r2,rw2l*s<vlws_~qD'd[r,o`iqKObe0r5en~n$r[1sHJ"
	"sl{qP$qv^sBTqIFqzhdm`vh)dqm'rwJs/|sU q_xrLW_!e#rl.a/des/fcnl6shhq}2r:qfJrkccos1EqLgqyerf|s"
	"4&sI4arqDwad_>`7_;c>7`JiMaOqr7a2cj_)g5`5a>_@_,c&l7fo_ahg1^vaKe`_ucxCdx_BeN^{`ueGs4uhha;i'j"
	" _(dJboqGym~fWaSd9`|jsb9r/+_cn~n$_+rAyrTFaie bOf-bP<s1)`0c sTysj qSJ0_U^xeUfGbt`pe;jLdi9^~"
	"akaKd9fmrV=`+a)f0mA_d`5a)b6Ca.cUe;_xcvvRvsAZhJhQc#e<j:qV>r'fb6b~rc1s70shwq[w_iqm|r(uexHrBq"
	"lss-/sdkr:_vRwsaBqGQcU0akqi-e^e6IeP`NburPCrcms'^s8@sWfqCXqj`q{kr-=rS1n~n$l<r}ns2M^|gJe1fnl"
	"Cqrrr3cs%rsE:vRxqM-qis_Hmdr1+dmlVi>`Arg!hhjvs0=f[sS gaqNaqw.e[sBeqG@cCc]qb6qs$r+9r<wgwdPaP"
	"rf-rulsNnqR'r!0rqUqC}dRq`a`+qvXa8c,r3Jsc!qijrk)hQs@zqDodUi6a;mLea_:r&P^ufCdRrM`hfbAm[ehc*h"
	"gbrs>z_>b]s[jb1b5qC=^~D__agbgbhn~n$_5`:-`AbgbA^~j$cDb(g@`ueEe2_$cgbf_k^w_Je&c`e*`W_bhu^{eY"
	"fzeVcx40`nmpfAcMcHb0`7c6_Fs_#_heqa)cIq]4l~r}esWw6slZqT$rd-lTs-ls>Cd;q_sjHr!-rd4qj+gzrcl_(r"
	"z;s> qI#d9`X_thIq~A_tr6qf(rYfqRhrNzs$5s=HsRxr,7hAkQs22j`s]UvRyr*,lIs8Rn~n$sb{vRzqSQgVdIr!]"
	"r3vrPTj[eA6dbs Wlci@f1m`qPvjLrTArf=r}gsHXvR{r4wqL4a;_/q|$r0g`4sU&qJhcd_3q{$i<ebcJrR/rf(rzh"
	"aos0/bhk;s]SvR|qE7qd<r%Ta|j~rQBm8_/rzWs,m `yvR}sKLqEzkdqvSdur:irk+_@qDcf9r[Rru(qEp8e35j]`#"
	"`l`W-aT_&_@dY`e_s`|`$b-f#gl7n~n$ax _2bM^Ib|`ta$_N0b$rO_`%/_LM`n2fs_c_F1 _%dCbK`RcR_s^x_Ss1"
	"9ata4alsKG.s[H_d`U _Jj,rm#qG+k6q~;mRsGhqXEQ.vR~ qegq{HvS!q}z_#vS#%sDMvS)$s3ivS.#r*LvS2rIDv"
	"S3 sUrvS5r A^|qQvvS6r-0cUl[vS7rT0vS8!n~n$rj|vS; s,aq[PgcvS=$qCjvSCqLQqcJr.5rsBvSDqcvlIr$yr"
	"auqv!_le'`Kqjf^@qP#vSEqcwqsla$vSF!rQhvSI%s_!vSO*rD~vSZ rx$sAqqxhvS] rw'vS_ qkbvSa'qg|s1Gr,"
	"zrk vSi%ruxvSo qk_r<!qQ^rB+qbyr|+n~n$qC`_r`'qXHbJc2qt;r($_!k=areer[dfsalcDs((cKsF#dQr%<rDy"
	"hudgsCZqWLc|qzyg-cxr>h_oaN_@rV1rsvbZh;jBb#`*sKEr;,rTMrf1s<<dwqVcfc_Jqq]h^edjBrTqrjDs*Ysm1q"
	"EQq^V^5c<fV`;bfb.e|ezrOzrxas,zj,sTusm$qi`j1a7qHmcs_#l-a[^shp_F`-`,aWa'agd~_m`%j+n~n$`NcMg)"
	"_<`KaLdBl%`4da` r~Bs0&gXaB_Ic><_2`Bdyg<bFr9#j3d{_=`_iWe'dMf&s51qadqx<kC`.`Yr;%k5`Cs7TsY0qD"
	"6rctqEKf>MaDatqzfr,p`x`&j>e)rUZc|gFruoh&sIdqLFr'bcI_*rUwl6r|jvSqs7@i,sYKql4rx%`ssCG_ c qt~"
	"X r4xrJZkWkss%VlisEvs`%qW~q{XvSrrWOrqpn~n$s&Ub[a{sD8vSsr<Yhwfvrktr~|vStsF]s_CvSuqDLl:r6k9l"
	"ucbs&Csj}qO sAbqn_r%h_:r6}kzrhje$s%>hO_Mq}trx=s+jqrir+rr=LrM{aE__s*'sE+qG;qmxe`r~HqMEr!5rT"
	"`qDyb7bC_Tr/lbqriy._)mus3;jIf#qGmbbcBb,qs-eN`ih>l^lmr`/s%NdpsROkY3j,_*qOrr*}kUkJr`0s@}sVuq"
	"zN_eg6rC8n~n$dNgTrmNeGk!s@@a8g:qMK_N`#r<Jhus-Tqrhr'Lr8]iqrherO:qER_Fq]!vSvqm#a;e-rOyrehjn_"
	"'_msC#d=kg_F`isnOqGArDbraXsGJlKqPXvSwr$g_/r68k.`Rc}k|rs2s%y_Js;zaRsVej<eW_pr^Ja.i~r}dsK)sl"
	"$@s3@qb<qsFr,$rF(kLri)i{qKhrF)dcr_+s8aDFsV(qDPd}qjmfXr'drJajubKrs}kVn~n$sD%sbfjgqb5bIdIr40"
	"i!arrV~rkAaDs#HiwsMRe2qO`r(@dIcEhEb:bSiV_Ka4`ddps49sY}qLWq|3sTcqGL`,qn&r>qrlos@Dqtrc<r.^vS"
	"xsTqqPLrtbqMk^@r23rbkhZr~.sT`qH3dxbO_la:ql*jBr,Lb9kil^_laJ_rvSyrV#ri5f~_2i,m1=sGc/lZl.qT&r"
	"D7d{f7s%ms=}sU0sf$dqr-8r>QrQArxNsVHr]Fn~n$el_IbRr$GrQybif9^}s^Zc+g|qj]eCrC5rw_d6sD1qC,m1qe"
	"thbb]d;c`g@`*rBr^}aurZqr~ka!g;s@,s]OfgqVoq}djsmmr{[s/DsWPqDlqd)quc r+vrlic%gR`0`)s@7b[q_<c"
	"s`ra{r)8bSa&g_rIRrq`s8U^}hVsc&rv%s8'sT5iPjfqi8r9frN<i2^<r~JqM7s/nqL6_;aqr0Wi&rY1Hrlv^~sW7s"
	"l[rB6n~n$s#:qM2e3_er(}`&eVmerXI`kr{jc.fMsF[alsggs,qqGecib,qdmjxg+g6 d^a_dzc/9rL8-cefh`:rsI"
	"er_<s3k^ybDr,%mTrLAk*_mfPsidr8,aOqc#r,#s |qR0lmaBm1l7e0a|r@el8rdnr{(sKNqPSqpAh|I_2`Uciarh0"
	"d4_YmBfFbFrnDi3`}e3m$dDsVYshxqacsm qHld$dUaPr'Qn~n$r:mrjy ghs'DsR bOqPzr;.rLCqT~qg+c'aId(_"
	"Vr,'bm`Ek~3rY6mVg.s$Umtl0sW6sm=ql~i[_K`5h]`D r9d`wrOf^{rm:sR5qjDs({iPqO2a8q}xb `:eNfue_rP)"
	"`wrfsa<bgh&`DgcsBMsV*f7qFFis_x9q}wb@`m`(j1g>e5k8bG`g`ZDcX^|_$iwl-s+)sB5sY/`vqP<q~ cUr@Najn"
	"~n$rWcs;UiB`Isb+_IqH~__q]ue)eLdGamf7fp_p3_;bcd8lor_&j]hA`o`C_}cscphVa(m|myso qHh^5vSzq_lqu"
	" gX`Ni8r@nfFrXMruF9s.) ^ui!drdLlfqFA_4qprr-r_GrWd sc%qq[r4'rIW_`hNvS{rn>s#n`=s[BqF rf,i~sR"
	"GqMpqp]r0ChA;`$rM,rgFr{Ur;prQHqKAbnqa|r%Zr5YrRYc2n~n$dzs&,sS'b6vS|qQ}qsCs5;i{2`tqNWrZxsetf"
	".qC>cnbSqk~dDr)/Hbka<rGYjN`]iaaPs@As])a#qH6q`6;h~r*#l>c/bIa>jhb&r~&l:_*drhqqE~cJdd_@qinisr"
	"+hra8rw:c9cjiO_ts@S-s^Se8r,)qD@bcqcKf'a) r YmWrHG`<eUrn(s!sd=sC'e}sgfqC2`daS`-cUEc:__geb*a"
	"xn~n$a/G_Kf@vS}q|}fr_#r=PathIreaaUfhdB _<`=_MaLs1$ej_9A_n_9gBa/j@^yhMg qQ4ZSdKdtdh`8Fqv,c("
	"`chZr:uk@rXPriS_I_0m~s8`sV vS~qFnqsY_]gWqn6r+fcSr^9rnAsi%qC:ePeHA^xqd(`xj$dS`q`W_#g*c|dHdU"
	"-!`yvT rQCcId@_tb#.exb'd=`]n~n$`0_ydXg;cRcU`Kb.j_sW3b^sn(q[1k jBr'Vlpa7c0eb^udqb/s8E^}sYYq"
	"zOr:,rt-s_SqCt_1;_-_Y-_6_Ta]fd1aJ`va3d7_l`Gc_:5ct_+bN_yg`d]>dp0`Jf=aZ_1b+ckgPkbay-L_UdPak_"
	"Og'bhbbb!c{d@bQ9`WcC` dpa8s[c`|kcqN}vT!r+ovT#n~n$qJ9bsql6r',r:KrP3b8_orfvs! sFksVcqDAr$qr8"
	"irILs$xqC.vT$r,Gc(lrrzMeEghr#0rD:sHLsZrqC/ezD_Dj&_X_blr`r``b7_FB^sdYr/:d7iSiA._uj7e8duj!s."
	"(a<_tcs_rsVNq`urRps9>qXbvT%rcSf0m;rLLez1vT&reSqa>_kkf`l^x`s`^dfa(cRb#_;KaZ`urLZccrfLd'_]b}"
	"n~n$bSajhUi+aPmwf6slt_Gqbt_Lkee|m#_SaYkebUb{r[j`Ns!LsGbb@qEGcv_sj;mt`/q|MgK_Ar@]g`eP_6_6_+"
	"c0gRj/_pb2cV_,_{i<cVeUh%ebdAbulqe,qR)qktr2)h'_Ya=rxshGhXa-_rsUysnUqO6r*plAro7s+HlWsR$`sr&C"
	"r=ljfvT'q_@d,c^j|`laRil_3rNK`ifR^wjln~n$l1Ha.s2gsG'qC;kqr7}c(rbSaqc|vT(s8NqSRdldJgy_N-cUj_"
	"b!`(dAeRif`eadbP_zakgi_^^O`!l@`h_>a0Es#V_4`1j,sBp_H_Hd)m*djqH0ql1r,^r=trijcrs4#d'fzqiEe_r#"
	"Gs!FsCcs[GrOMqiflWr,}r>es1A_|mGsY)qNjvT)rFSr^LsLas,_sGnqHHiEdN`v`@b[cI`_a`AbEfLn~n$aH_1az`"
	"+aV_5kfb0`B`~d@f%a=`&`&`CbTaxe*`.`*cS`oI`Mazbld/b>_=aLeydB`yhaaF_4a$ag^ti-H _ ^{aDboaz_:qS"
	"9kN`2e!_Cr>WbjdneN`/rt[h/qp6c)^t`/r(ZdNb<`}asc/`VrPMg.`FhYcKila4aac7_dlG_VsFzbxl/c1q{os,As"
	"BReAqmrLn~n$_5rQnrw`s)krE2q~Lrras.m_/qCD_-e[c{__q}(h@rnhs+OsTHqGChDg0hM`rbuB^Oc8aKaomg_g>b"
	"]_)rN=kkb7rrSkt_,kn`i._mbT^vq_gi;gOb@eJr1>eUf5g;rgTs)Wi`h_s[EKqFJ_<_Tk=qekbymqju`PrK1gKj*i"
	"0ix`,c8d9^uarfxkEa+vT*sB&qc2e>_5kGP]^shqr:xn~n$vT+r>xdBlWrz^s3aqE-k$vT,sUhr9bqDiacboiiklf2"
	"lrrL2rzla(gib:cHsT(_{dwiR_Hq_}kMaF_|ej_'f;r3}j!sEPd{lBh{g|qidalq~WgZc~rYksUO`e``g`r'ls3li%"
	"sR_qW*qlpaj`xr*MrW1r~1sRjqb0q}grMLsh=qE_qc/qv<r)Mm3rb4sh;qRUajftm>ibr+/r>4r^Krz+sU%`DqRFq}"
	"%aVr>7rmegUsYln~n$r6brq5sij_`qD(cab[qb{qxpfnm%rKqrsivT-sGeqstvT. rjsr{6bk_@ags=`vT0qG$vT1 "
	"qbBe*l_h8a{_IahvT3r1}`rfXfgbKjg_.h_`UvT4rquvT5s.{vT6s5EsGVkbvT7s[qq]-qu*r()rBtrVBh_s2es^[c"
	"0ioqKJqzu`tr5Orx+qIAq`FqtLrHSs1 a5qiVs&+qHTb mee]r!>r@!qo]r2CqLqU1`jvT8!qd'vT;n~n$ r7ja9vT"
	"=rRhjbvT>rxn_1a/s@YJvT@s] vTA!qDqvTDq_Qqt`r)$vTE rUIrnxs4~vTGsBis`Qq[*bccU^xbvvTHqs7vTI r "
	"B^:vTKr1pg__+`h0_Va[vTLrH(_K^tvTMrJU=vTNr]jLvTOrfSe9vTPrn,vTQs,:s>UvTR!sI8vTUsgivTV!qwWr=h"
	"vTYrJCvTZ sRSqRpvT]!r-vvT`rG3`9fqrz#_Pn~n$vTasR^lshPr*{vTbrJSs *vTc q`bvTe qokc<vTgr)1_cf["
	"_(eV`Sb!aG`0_4@a^`&brvThrQjvTirS)cyh=jEvTj r{Cs2%mZvTlsKovTmsVKvTn qCicmvTpqN9c^r+MmggrgTj"
	"vfSrz]gC^vvTqs-gbpaVa)vTrsJ4vTssVEa8qD__n`Ta$eca1^Ec*eT_L`E`LcMk`vTtq{+hD`A_Ydlhlgnn~n$aX`"
	"vc)rf[s(ghTse]fEqknr:zrNg_8sHurAzrQtc=jJhes%}qL)qb!r%CrSD^xb:rrOsD>sU[eSr@PrS;rd> rxKl;`6e"
	"pqf6b!:r0._SjdrOp__Ejlm=d)aj_0drs7FsSuchr+Jqtgr(ibpl(rOQqI*qeMr7ur[eqbujV_UrNGdRvTu qK*aPq"
	"`Ea9_^_7d2vTw qoTl~a|_r_`vTyr+5vTzr4gvT{rK4e0vT|n~n$rc{^xhPCc%bPvT}s+8bsc!m$vT~sD)s]]qz;r7"
	";dkrmzs.[sApqH*`ua%amlH`ZgDfpeVr2liS`t_CfNf=`_/rtIf4brs<7mw_=vU qDX`[ab`Lek.^yqib_@_El=_]j"
	"srL4ay`AeNeZ_4^ygbf&f=g__~sB#_z`Fa0k>_W qPPqtMr([_7d%rIJrc'sDlsY'qD[vU!r4qb+iNc~rsJemehn~n"
	"$sCQsU!_QaEs#DsbpqDZrIysURqL,e'b dZ^O`(fi^za:jfaSf$r:|`LavJhXaKaTr{!s,ps@`aWvU#sTLc{khr+cs"
	":qkyqF`a7`,e`hTf6^~d/mSlir@WibdArmIfDg`_L`rdHa7`Ucom>sXEh;qD<aZbb_LvU$qW$_oqiT^|fG _4cg_2^"
	"z f*bTcUvU%r-w1vU&r26 gl_cvU'r@cvU(n~n$rE>gj vU)rQk`nvU*rW7vU+ rldjQdckAcG_6=gW=d/^D_/`h_u"
	"c(vU- q_|vU/r9$rt`^zvU0 qL*qcnf=vU2 rC{jCru_s9IvU4sHQh/vU5#rtUq{qrE{rk{s*2vU9q^oqw:`wr8fs3"
	"'sI_j0qD!qT(r>rs#WsTZbda6r!mr;~sD:qMlq{*rw}sjWqGS_ra qiwm`a+f^ivf/rU.d{rr6f*g>e7_]e$n~n$`L"
	"sGAqDV_M^vvU: qc8`IvU<qpHaf_3`_vU=#rKuc*vUBrTk_QvUCrbIvUDrs=^x_Ee(_evUE s8[^Fi/vUG s[ZDvUI"
	" rF8rXTrrX-_#s4'qE'2gVbMvUKqUldKg.cNge`PrA;vUL rk}r|*vUNs'MiVvUOsWC5vUP qC%b9^uqbWr(SrAqsC"
	"=h/s^hqEjqbJ`5_CqvpvUR rbcvUTr|Es8bqLOcdn~n$vUU!qE:hTqi.rznqEBg{e9lj_)b020lO`~rB<cR`nd@bQ`"
	"Vf}jkfJcja{ct`Jlnc^sUZqFohVh{r'v_rrG _/b^rltkusF=masi+qiKr0ve~i=rXiqlWr*brCrrg5_ks,#sUkqC-"
	"`hjIl]_|_'_rehdT_E`IjWg9`;f8_y_^j2fxvUXrNsaxrdwcKkv_[3c&`{`O_f_.g j5k<i&n~n$abqLxgPe*k+q|S"
	"lKa(_Jr@h`-c-rm|s-Si;e3sn8.rKdrfns36sK@qFY2cigcm;kji}kec~`AedbLkd_Ee`rg9b^r{8aN_Rc#jed}c]b"
	"s`6sU]snMqP^adqgt`zr$5aYrBgi+vUYrWki$`gaocvc$hTs48c!`1_r_sbl:_eg}qFU_*av`M;`nIq`xG`}eu_AeR"
	"cDbvr.Yhe_<hbn~n$b~fBaL3Ea^l _2^sEf8s23ku6fg_H`&aEf@b><`KqN8q|/_cr=:rWJjga1c9qR qm'c^rCNbb"
	"ricsVCj~ger!:`ns)yqC&`+Dc2Ei.mhc[es_b_=` b#eAd,_(_L`B-bgbJa^`s`vba^y_*_2cD_xf^_dazdIaiaC_r"
	"_gdj`ik^s1#a#c7k2I`%`%_Z_HiB_Dn~n$1`=smXqNi_Of[euqpta=bMgXl&rE<r`tcCrx2iIgWd!gag^k|_*`9aKs"
	"n7qH'bX_z`whAqsV_Kj>a`aX_L`Q^O^uba_-acla_Mc~_s_8eLe]dD/_z_4_jd)_;_Yaid>ma`Ahi_`fJa#c!_AbVj"
	"X`1sgWr(<rh,s;<sM0qi1`JqQqq~&rN>qI$qiridaN`Sr0dlLrQ;rb}g'_N`,gNn~n$s<X6m4`1qFcq]{qp;`Yk'rq"
	"TqCbaP_3`dqe&ru=qTu^Nbwgfdsdna7r)p`m`X_,kc_=aTb!agg<c*rhs`N^{_kj~kagu_=f[aV`Aa9aY/fcmyre2c"
	"/qH#at`^q_9j&aHr)li@g0ayb5a]jdmas+msC&_HsUYgHr{SqCS`^s,3sGdqR>r6AYPfFs ]qaXqzLm]R4rH&j3`Nr"
	"nPs!=s4WcCqCrqSPn~n$`YeQ;qubg=1bH`X`Q`)a`Bhha9_-e_r[[_3aa9h{hA_Ta,`BFjbh+vUZs9F`Rf#rY g8Ji"
	"zdKqVY`fenq~~a.dO-dJakcnc$bmle`2_,`R_Rae_0_be&j!@i9gHg}c&eddB`^_wh2f%;`+qG9jnqe3`xger/7rRy"
	"a3j*`Arwfm5s9+`{dIr'jbVvU[q_jrCnrm6s@In~n$klf@qu>dfrD=qC9be_|hcd=qn~_tr7*_6r_,f>vU]s<x_vc'"
	"r :a0rYogXsKUb/snXr%1rDjd`f1_%rdZb-e;XLcks5LbPsO2k6_/qNlqj^r%idprk@qK2fFkZqys `8hkrdps5D/q"
	"HdDd}f+lSkH`'cHj)`F^{_ag>l>_ci@f|jsrvWa]b^a qJWq_ci+^yh8j7r]@m|r}wb$sG^_ qLur.:rf3n~n$s8Jq"
	"MRqdbqx2s&lqHwvU^qO)qk]m.`4`QdG`KrB=rVcrv's=1sTI_PqEMjed~hIkXr%Gr;danrOZrcrry$hCs9%aie2bPi"
	"V_3c(qN)fk`+quCl2rDBrlks@8_ l/qJlqk7r;XazrSremk%^xs2>_<q`3c#jXmMrL+gLcfs3Fcee qs4r*)r@ rtS"
	"gXs34sW&k(vU_qNvr+Yr=xb9rm9s3Pm3_#saoqNO_Ve4qzRa+_Kr0/n~n$_e_;`trG7`+r]x`;8`]_.rtmcg_Q_id'"
	"s7}a>i8^z^tqGzq[WrK!r[Ms(_fiqjwi9r,OsDRqSHjyhSkS`vfOrn:d[kYsIbr%/qJNqn r+ZqaVq}ha&mR__`=jM"
	"rXDg$rzjbNs38fId~aQ_,_EbT3_wgUgpc[qC6rTVi^b~_K_me0s!Js=*G_yaTr)6g-rQQqN+r,+sm%qL.qukr;/s+;"
	"_`Fqx)rwxdwn~n$s9GqS;_Wd!i_d!rG/rro_o`Da!s;,iBs`UhKqIsXml#qxrr@Vql)qG=`3qY qmCbgd-r0 j&aEi"
	"VisL_bhr_!h5_'bSeRkYs@5sUWfZsn@qNz_ss[Ss0'qC(r-urByqGlqjar-6l:a+rQ(iisGtc!s*krb1_AquvqEDqU"
	"R`1h'a2qxgbC_xjadGry>sT)h(^}qI)g:cvdavU`q|_vUar%ebjbRrD|_ j2Bs18n~n$sNJqT[c8b@qt-d{r7XlR_I"
	"rlrs2[qcmrvIr!7rY5rsps8Hq`kr#hm{qipeHrA<vUbs$6qL5eqm%qvNahr83a%_ureXruHd-s;PfZsZtvUcr%IrD_"
	"r$p_hqL7f1g!s1/qyzr/avUdrUzmddGsB}q_yr3FrwAs.asBcsYWqIwqcY_Iq}>sBrsbiqyxrLSsRyq^.fUhgk9dK_"
	"AeImW_Pl5d1iZrqbgJs;fsY4qNVlgr,~rL ehs8Gfne6n~n$ivqLUeNr =qF|qVVqwikfr;4`}kr`Irbfs/bg)qtSr"
	"DHbKrwkqy'qGv`'q|GrK~rgIdId(sCSsX&e7s8Tq^7qqnr-Rr~Ks1xqT)qhLgb_t^yr'Mru3k&sR*`kqFZhv3-bW_i"
	"d0qpYd:eQB`;vUer;|_zrUOeMruX_Ec2bd_Ei6_zsBnfOs[deaqq>r*k^zrEpczvUfqHOeTqtPcnr,Qf5l0rS7k)s,"
	"Vins[,^Mb`n~n$qUprbnr2(s3bb2sZkaBqtcgCrUPa7s-<sD(sT+qQWqt _~r;grP5bw^zrf#r{Ps^KqCvsCBqC0b)"
	"jQmUqrgr)Br;MrQdr|niKmFhHsVPl>qb.ets&gkisioqjPk9^vmPr:Mf:_v_lrq>`2sR2 `VbdqOHs@_qN.dV`$`C^"
	"xr5~fkrm1k1sI{i6sk|qSo`XrX]s(BsRF_#_}qDm_[qe7a3g$e&dnk{`mjEc,rq bCbpn~n$vUg sY!qDpc3j_fPcK"
	"d6_=q{)r2Mi]eys+Cco`&_jsD+s_>`dqP7r/ qHqqqsr,Mr|<lMqDvmRejrPPsEdsXzaF_B_5qZ4dus&ri1qzqr6]r"
	"OAs>Hr7QsU7hfqcWrK5s:QsW>qH-qm_dZfBjdr<(hyfI_(_8g>^urkUK`Yiqs,@vUis9#mSsZ0qi*rcgs,-sX|qg_q"
	"H9h+qc@hxr /r=[mmrv!-ehsJQmMqDsei`fmgn~n$qtHr;]d3at_>_S`|e!_ur|@jX`WsBk`1frs^VqLXqt<bj_|m7"
	"s$&s<ygzsWbqCu_7qU)jY^v_xgLe=g!=h{_Qmqb__Z_|`9`3_@4_ie>b4_(_{c6f8h%b3f2cIcI_Hbp<aQi`a.sLwj"
	"T_YqxGb$sFjqfHr(~r>~_:rQMsc#qv*`vreIqUsqsZr:T_j_Khgrjts'2hKshQqQ3bVqh:r4XrFnlRn~n$iu_$rz`a"
	"{s26`ibGsWJvUjr%w_*r^y c3qC_qX3hoe fEdPgLr7lO]csr@Cgag`rjwsD-s``c@r<zbwjns7:sRmqN qqFb;`<`"
	"A_-Hl> gvg/c __`0cogecpm%_Zr|HibsCWsTxsljqQMhhqs<`&`q_%bCjp`4hQggcD`ZfkrnigibVhXi/dDqOYrO7"
	"qiqr5,sMsqV@byk|r&o_0b#cZl5_,n~n$jvru-sFhs`CqGf__h8_i_ b,_/qq8b,r,:rITeCsBhqPUDm^__rHN`!_a"
	"s% jdr*=s$wqXAr*9rI7r~pqQhdyr8pqt>_Xj0ehrI4s3[j+sleqF!r#urGrk>s&~qw5s4]sjVqL0`GaNr<urusslx"
	"r)&lVmbm(qSjql>rjvs17r7)I4qTBqwBr<|rrdd[qJyaDhw`h_Vg2aYfthE^O`0j,_}rJ*L a(raQ_Mrr@s25";

static const char packed_ibm866[] =
	"im,,,+p-S![x^s_0 ^D^O9^=11^O^O]b/L^H^@^3_/^s ^K^JA^M^J^@H^K ^L ^D^O^J D^O]Z^D_q^L3/^@o,o,#"
	"]__D]`_D]`_D]d_DS9p#to!~p#uZao!kp-co!g";

static const char packed_iso_8859_2[] =
	"_u,,(_XcXY([l`0I[U `P^N1A[;`i^N[<_IcZY&[{` IbLWj`A^N1AbCYb^N^'[v _3]o_j]z]n_8]j_C]`_C]` _3"
	"-_&/]7 _q]1 _vB[u`-[u _z](_k]7 M^0_J]z^/^w^+_#^ _#^  M-_&/]W _Q]Q _VB]6_l]6 _ZbV";

static const char packed_iso_8859_3[] =
	"_u,,(_{c5WC n _u]. _}_ ]mB]$n `g[<_l]6#_e]= _n_ ]mB]3n `W[L!n -_9^N]l(n -#_@]c _8]j#`'^@]."
	"#n -^x^N^-(n -#^~^$ ^w^+#_f^@b]";

static const char packed_iso_8859_4[] =
	"_u,,(_X_'J[V_y>[u `P]_;_7[O`i[9 _IcZY;[f_j>blWj`A]_;_7^2_']z]b]n%_]^-]j_C]`_>]d _P^5_(2^9]"
	"J$`1[q!`#-[~^s^/%_<^-^+_#^ ^}^% _0^5_(2^9]j$_p]2!_b-bN";

static const char packed_iso_8859_5[] = "_u,,(gv+T,gv,,,,,%p 'o-!+S2hp ";

static const char packed_iso_8859_6[] = "_u,,(n#/n'mTNUn-mZn#/n -,, n%1,&";

static const char packed_iso_8859_7[] =
	"_u,,(o|= o!jo}w.o!m#fAUb!n o|:o!w#fA!UbfA!UbfAUbfA,'n -,,,'";

static const char packed_iso_8859_8[] = "_u,,(n -'_ ^#,!_1]q#nAo|<o11,,!n!o|3 ";

static const char packed_iso_8859_10[] =
	"_u,,(_X9;3^N9[z`+^$_D1C[7`U^/[o_I9;3^N9]+_z^$_D1Co|:o$z^/]b]n%_]^-]j_C]`_>]d#_j2]2#`)[y`1["
	"q%^s^/%_<^-^+_#^ ^}^%#_J2]R#_h]:_p]2$_-";

static const char packed_iso_8859_13[] =
	"_u,,(o|Co!i!o|Do!m _$]~`E[^#D^9#o|Bo!|!_4]n`5[m#^yJ^{^ 1]k _G^J^J]j`H]I7@^D<^v^2-]9_n]4!`2"
	"]|E;[{`6-[k^w^{^ 1^, _'^J^J^+`(]I7@^D<^v^2-]Y_N]T!_q]|E;]<_u-o|>";

static const char packed_iso_8859_14[] =
	"_u,,(ovP o!j_[ ovXo!nowso!powu]4a!o!t `covm o$- ow1 o!}owH^|^%^}^,`*]< ^+o#),#`<[f%ow]o#B%"
	"`0[r,$_{]'%ow^o#c%_o]3";

static const char packed_iso_8859_15[] = "_u,,+o}wo!l`S[O`R[P*`c[@!``[C!`. ^v[O,,,,,$";

static const char packed_iso_8859_16[] =
	"_u,,(_X _/o}w[{o$o[O`R[PbOYS`g[;`f [< _O_)_.o|Co!} ``]:aHYc`. ^v/[L!_3]o_5]m)_4_&]:!_q]1_y"
	"B[r#_/a=Z(#M^0^t^.)^s_&]Z!_Q]Q_YB]3#Ia=ZH";

static const char packed_koi8_r[] =
	"p+{-5////3333_7////#VbeLSb _ H o!gp&ho!w-0_3p,o!o-!p,r,!o,.p-#*o!ph^^1 A^= :^>=^C';^A#^C^L"
	"F^O^;<0^L^N.^3^1 A^= :^>=^C';^A#^C^LF^O^;<0^L^N.";

static const char packed_koi8_u[] =
	"p+{-5////3333_7////#VbeLSb _ H o!gp&ho!w-0_3p,o!o-!.p,so-' p,v$o-d]zp,}#o,..p-$o,3 p-'$o-c"
	"])T&h^^1 A^= :^>=^C';^A#^C^LF^O^;<0^L^N.^3^1 A^= :^>=^C';^A#^C^LF^O^;<0^L^N.";

static const char packed_macintosh[] =
	"`] --3010^O--^O---^O- -^O- --^O--^O0^O- o|Fo!w^B /o|Ho!}^z]|^Kp 3o!{^Dp$_o#/=p#yo!xp$c o!l"
	";p#]:^No+Jp$(o!q;f`Un=]t^16p#uo%Dp$F]ko!r;o|Lo!gL.=_r o|8 3 ^K o#bp./o#j_no|k_]]8 vXK o|Go"
	"!~o|@/=o#+3^G5^M0!^M2 vRro#;3 ^N_LbvBWKdQ!WVdM^N^;";

static const char packed_windows_874[] = "o}wo!G#o|Lo!L*o|= . 0^A o!_(oH|,,,,)n$0,,$";

static const char packed_windows_1250[] =
	"o}wo!Go|@o!Io|D3^J o!No|Vo$oo|`o$i5E^LZ|o|= . 0^A o!_p 3o$po|ao$j5E^L[-dO<Y([l_T]N#`M[U#`f"
	"[< dRY&[{$_A_N[e_wc#X~_1^'[v _3]o_j]z]n_8]j_C]`_C]` _3-_&/]7 _q]1 _vB[u`-[u _z](_k]7 M^0_J"
	"]z^/^w^+_#^ _#^  M-_&/]W _Q]Q _VB]6_l]6 _ZbV";

static const char packed_windows_1251[] =
	"i_ o|@o-$o|D3^J `!]/o,6o|`o,7-^O/_6o|= . 0^A o!_p 3o-*o|ao-+-^O/S(h%_D]VT'iHRZ goT3gpT2#gn"
	"T4 gj_D_.Ri!hRp 'o-%SOhU]Y_D-]f,,,,,#";

static const char packed_windows_1252[] =
	"o}wo!Go|@o%Do|D3^J o(eo|Vo$oo|`o$a[Ca+Zw o|= . 0^A o({p 3o$po|ao$b[R`z^J[/,,,,,,,+";

static const char packed_windows_1253[] =
	"o}wo!Go|@o%Do|D3^J o!No|Vo!Po|`o!R$o|= . 0^A o!_p 3o!ao|ao!c$fU UM&n -#o|:o!w#fAUb!fA!UbfA"
	"UbfA,'n -,,,'";

static const char packed_windows_1254[] =
	"o}wo!Go|@o%Do|D3^J o(eo|Vo$oo|`o$a[C#o|= . 0^A o({p 3o$po|ao$b[R `s[/,,,+_C]`+_H_ ],,$_#^ "
	"+_(_ ]L";

static const char packed_windows_1255[] =
	"o}wo!Go|@o%Do|D3^J o(eo|Vo!Po|`o!R$o|= . 0^A o({p 3o!ao|ao!c'o}uo!l$_ ^#,!_1]q$l8,'^~$n'^+"
	",,!n!o|3 ";

static const char packed_windows_1256[] =
	"o}wo3'o|@o%Do|D3^J o(eo|Vo3!o|`o$al}=^@^xo|= . 0^A o3Sp 3o3:o|ao$bo|1 o3eo!gmXNJ'o3io!r,!m"
	"NNT#mM`9[i,)NUmL#1#NQmPNRmO#NS$mJ NX mH#NZmG N[mFN]mEN^ o|3 o3}";

static const char packed_windows_1257[] =
	"o}wo!Go|@o!Io|D3^J o!No|Vo!Po|`o!RHdGWj^'o|= . 0^A o!_p 3o!ao|ao!c>dTW; n -!n - _$]~`E[^#D"
	"^9'_4]n`5[m#^yJ^{^ 1]k _G^J^J]j`H]I7@^D<^v^2-]9_n]4!`2]|E;[{`6-[k^w^{^ 1^, _'^J^J^+`(]I7@^"
	"D<^v^2-]Y_N]T!_q]|E;]<_u-b:";

static const char packed_windows_1258[] =
	"o}wo!Go|@o%Do|D3^J o(eo|Vo!Po|`o$a[C#o|= . 0^A o({p 3o!ao|ao$b[R `s[/,,*_3]o'd^WE!_4]ndaWB"
	" `e[=&`lb3WT#M^0'd=We!^s^/dZWH `E[^&`Lo}vo#j";

static const char packed_x_mac_cyrillic[] =
	"im,,'o|Fo!wi;RW/o|Ho!}geT3^Kp 3o,/_Dp$_o,0_Dp#yo!xp$c o-'SGi7]!^L_D]`_D]__D]^_D^N]YT2p#uo%"
	"Dp$F]ko!r;o|Lo!gh!_D]^_D^Io|8 3 ^K o#bo|Do,;_D]^_Dp 'o,._D^N^0,,&o}w";

static const char packed_x_user_defined[] = "vNc,,,,,,,,,,'";

const struct charset_index charset_indexes[CHARSET_INDEXES] = {
	[INDEX_BIG5] = {packed_big5, 19782},
	[INDEX_GB18030] = {packed_gb18030, 23940},
	[INDEX_JIS0208] = {packed_jis0208, 11280},
	[INDEX_JIS0212] = {packed_jis0212, 8836},
	[INDEX_EUC_KR] = {packed_euc_kr, 23940},
	[INDEX_IBM866] = {packed_ibm866, 128},
	[INDEX_ISO_8859_2] = {packed_iso_8859_2, 128},
	[INDEX_ISO_8859_3] = {packed_iso_8859_3, 128},
	[INDEX_ISO_8859_4] = {packed_iso_8859_4, 128},
	[INDEX_ISO_8859_5] = {packed_iso_8859_5, 128},
	[INDEX_ISO_8859_6] = {packed_iso_8859_6, 128},
	[INDEX_ISO_8859_7] = {packed_iso_8859_7, 128},
	[INDEX_ISO_8859_8] = {packed_iso_8859_8, 128},
	[INDEX_ISO_8859_10] = {packed_iso_8859_10, 128},
	[INDEX_ISO_8859_13] = {packed_iso_8859_13, 128},
	[INDEX_ISO_8859_14] = {packed_iso_8859_14, 128},
	[INDEX_ISO_8859_15] = {packed_iso_8859_15, 128},
	[INDEX_ISO_8859_16] = {packed_iso_8859_16, 128},
	[INDEX_KOI8_R] = {packed_koi8_r, 128},
	[INDEX_KOI8_U] = {packed_koi8_u, 128},
	[INDEX_MACINTOSH] = {packed_macintosh, 128},
	[INDEX_WINDOWS_874] = {packed_windows_874, 128},
	[INDEX_WINDOWS_1250] = {packed_windows_1250, 128},
	[INDEX_WINDOWS_1251] = {packed_windows_1251, 128},
	[INDEX_WINDOWS_1252] = {packed_windows_1252, 128},
	[INDEX_WINDOWS_1253] = {packed_windows_1253, 128},
	[INDEX_WINDOWS_1254] = {packed_windows_1254, 128},
	[INDEX_WINDOWS_1255] = {packed_windows_1255, 128},
	[INDEX_WINDOWS_1256] = {packed_windows_1256, 128},
	[INDEX_WINDOWS_1257] = {packed_windows_1257, 128},
	[INDEX_WINDOWS_1258] = {packed_windows_1258, 128},
	[INDEX_X_MAC_CYRILLIC] = {packed_x_mac_cyrillic, 128},
	[INDEX_X_USER_DEFINED] = {packed_x_user_defined, 128},
};

const struct charset_range charset_ranges[CHARSET_RANGES] = {
	{0, 128},       {36, 165},      {38, 169},      {45, 178},      {50, 184},
	{81, 216},      {89, 226},      {95, 235},      {96, 238},      {100, 244},
	{103, 248},     {104, 251},     {105, 253},     {109, 258},     {126, 276},
	{133, 284},     {148, 300},     {172, 325},     {175, 329},     {179, 334},
	{208, 364},     {306, 463},     {307, 465},     {308, 467},     {309, 469},
	{310, 471},     {311, 473},     {312, 475},     {313, 477},     {341, 506},
	{428, 594},     {443, 610},     {544, 712},     {545, 716},     {558, 730},
	{741, 930},     {742, 938},     {749, 962},     {750, 970},     {805, 1026},
	{819, 1104},    {820, 1106},    {7922, 8209},   {7924, 8215},   {7925, 8218},
	{7927, 8222},   {7934, 8231},   {7943, 8241},   {7944, 8244},   {7945, 8246},
	{7950, 8252},   {8062, 8365},   {8148, 8452},   {8149, 8454},   {8152, 8458},
	{8164, 8471},   {8174, 8482},   {8236, 8556},   {8240, 8570},   {8262, 8596},
	{8264, 8602},   {8374, 8713},   {8380, 8720},   {8381, 8722},   {8384, 8726},
	{8388, 8731},   {8390, 8737},   {8392, 8740},   {8393, 8742},   {8394, 8748},
	{8396, 8751},   {8401, 8760},   {8406, 8766},   {8416, 8777},   {8419, 8781},
	{8424, 8787},   {8437, 8802},   {8439, 8808},   {8445, 8816},   {8482, 8854},
	{8485, 8858},   {8496, 8870},   {8521, 8896},   {8603, 8979},   {8936, 9322},
	{8946, 9372},   {9046, 9548},   {9050, 9588},   {9063, 9616},   {9066, 9622},
	{9076, 9634},   {9092, 9652},   {9100, 9662},   {9108, 9672},   {9111, 9676},
	{9113, 9680},   {9131, 9702},   {9162, 9735},   {9164, 9738},   {9218, 9793},
	{9219, 9795},   {11329, 11906}, {11331, 11909}, {11334, 11913}, {11336, 11917},
	{11346, 11928}, {11361, 11944}, {11363, 11947}, {11366, 11951}, {11370, 11956},
	{11372, 11960}, {11375, 11964}, {11389, 11979}, {11682, 12284}, {11686, 12292},
	{11687, 12312}, {11692, 12319}, {11694, 12330}, {11714, 12351}, {11716, 12436},
	{11723, 12447}, {11725, 12535}, {11730, 12543}, {11736, 12586}, {11982, 12842},
	{11989, 12850}, {12102, 12964}, {12336, 13200}, {12348, 13215}, {12350, 13218},
	{12384, 13253}, {12393, 13263}, {12395, 13267}, {12397, 13270}, {12510, 13384},
	{12553, 13428}, {12851, 13727}, {12962, 13839}, {12973, 13851}, {13738, 14617},
	{13823, 14703}, {13919, 14801}, {13933, 14816}, {14080, 14964}, {14298, 15183},
	{14585, 15471}, {14698, 15585}, {15583, 16471}, {15847, 16736}, {16318, 17208},
	{16434, 17325}, {16438, 17330}, {16481, 17374}, {16729, 17623}, {17102, 17997},
	{17122, 18018}, {17315, 18212}, {17320, 18218}, {17402, 18301}, {17418, 18318},
	{17859, 18760}, {17909, 18811}, {17911, 18814}, {17915, 18820}, {17916, 18823},
	{17936, 18844}, {17939, 18848}, {17961, 18872}, {18664, 19576}, {18703, 19620},
	{18814, 19738}, {18962, 19887}, {19043, 40870}, {33469, 59244}, {33470, 59336},
	{33471, 59367}, {33484, 59413}, {33485, 59417}, {33490, 59423}, {33497, 59431},
	{33501, 59437}, {33505, 59443}, {33513, 59452}, {33520, 59460}, {33536, 59478},
	{33550, 59493}, {37845, 63789}, {37921, 63866}, {37948, 63894}, {38029, 63976},
	{38038, 63986}, {38064, 64016}, {38065, 64018}, {38066, 64021}, {38069, 64025},
	{38075, 64034}, {38076, 64037}, {38078, 64042}, {39108, 65074}, {39109, 65093},
	{39113, 65107}, {39114, 65112}, {39115, 65127}, {39116, 65132}, {39265, 65375},
	{39394, 65510}, {189000, 65536}};

const uint16_t charset_katakana[CHARSET_KATAKANA] = {
	12290, 12300, 12301, 12289, 12539, 12530, 12449, 12451, 12453, 12455, 12457, 12515, 12517,
	12519, 12483, 12540, 12450, 12452, 12454, 12456, 12458, 12459, 12461, 12463, 12465, 12467,
	12469, 12471, 12473, 12475, 12477, 12479, 12481, 12484, 12486, 12488, 12490, 12491, 12492,
	12493, 12494, 12495, 12498, 12501, 12504, 12507, 12510, 12511, 12512, 12513, 12514, 12516,
	12518, 12520, 12521, 12522, 12523, 12524, 12525, 12527, 12531, 12443, 12444};
